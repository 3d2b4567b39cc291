//! Errors of a file of shared locks.

use super::header::FORMAT;
use std::{io, path::PathBuf};

/// A reason why a file of shared locks cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// The file does not begin with the signature of these files.
    #[error("{path}: not a file of shared locks", path = path.display())]
    Foreign {
        /// Path of the file.
        path: PathBuf,
    },
    /// Another version of this library created the file.
    #[error("{path}: made by format version {found}; this program knows version {FORMAT}", path = path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Format version of the file.
        found: u32,
    },
    /// The layout of the value in the file differs from the one that this program expects.
    #[error(
        "{path}: holds layout {found_layout} of {found_size} bytes, this program wants layout {layout} of {size} bytes",
        path = path.display()
    )]
    Layout {
        /// Path of the file.
        path: PathBuf,
        /// Layout number in the file.
        found_layout: u32,
        /// Size of the value in bytes, as recorded in the file.
        found_size: u64,
        /// Expected layout number.
        layout: u32,
        /// Expected size in bytes.
        size: u64,
    },
    /// The file contains a value of another type, though of the same size.
    #[error("{path}: holds a {found}, this program wants a {wanted}", path = path.display())]
    Type {
        /// Path of the file.
        path: PathBuf,
        /// Beginning of the name of the type in the file.
        found: String,
        /// Name of the expected type.
        wanted: String,
    },
    /// The file is shorter than its header records.
    #[error("{path}: truncated: {found} bytes of {expected}", path = path.display())]
    Truncated {
        /// Path of the file.
        path: PathBuf,
        /// Length of the file in bytes.
        found: u64,
        /// Expected length in bytes.
        expected: u64,
    },
    /// The file was created before the last boot of the machine, or in another pid or time namespace: the threads
    /// that its locks name do not exist here.
    #[error(
        "{path}: created before the last boot, or in another pid or time namespace; remove it if no process uses it",
        path = path.display()
    )]
    Stale {
        /// Path of the file.
        path: PathBuf,
    },
}

/// A result whose error states the problem and the file.
pub type Result<T> = std::result::Result<T, Error>;
