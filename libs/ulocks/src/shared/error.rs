//! Why a file cannot be used.

use super::header::FORMAT;
use std::{io, path::PathBuf};

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system said no.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file does not begin as these files do.
    #[error("{path}: not a file of shared locks", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was made by another version of this library.
    #[error("{path}: made by format version {found}; this program knows version {FORMAT}", path = path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file holds something else than this program wants to see in it.
    #[error(
        "{path}: holds layout {found_layout} of {found_size} bytes, this program wants layout {layout} of {size} bytes",
        path = path.display()
    )]
    Layout {
        /// The file.
        path: PathBuf,
        /// The layout number in it.
        found_layout: u32,
        /// The size that it says its value has.
        found_size: u64,
        /// The layout number wanted.
        layout: u32,
        /// The size wanted.
        size: u64,
    },
    /// The file holds a value of another type, though of the same size.
    #[error("{path}: holds a {found}, this program wants a {wanted}", path = path.display())]
    Type {
        /// The file.
        path: PathBuf,
        /// The beginning of the name of the type in it.
        found: String,
        /// The name of the type wanted.
        wanted: String,
    },
    /// The file is shorter than it says.
    #[error("{path}: truncated: {found} bytes of {expected}", path = path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length that it should have.
        expected: u64,
    },
    /// The file is from before the machine was started, or from another pid or time namespace: its locks name
    /// threads that mean nothing here.
    #[error(
        "{path}: created before the last boot, or in another pid or time namespace; remove it if no process uses it",
        path = path.display()
    )]
    Stale {
        /// The file.
        path: PathBuf,
    },
}

/// A result whose error says what is wrong with which file.
pub type Result<T> = std::result::Result<T, Error>;
