//! The location of the archive: from the flag, the environment variable, or the user's data directory.

use crate::archive::Archive;
use anyhow::bail;
use instruments::warning::WarningKind;
use serde::Serialize;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "CONTEND_ARCHIVE";
const BELOW_DATA: &str = "contend/archive.git";

/// The place where records are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In this directory.
    Folder(PathBuf),
    /// Nowhere, because the user disabled the archive.
    Nowhere,
    /// Nowhere, because there is no home directory.
    Unknown,
}

impl Location {
    /// Chooses `--archive`, then the variable (empty: nowhere), then the user's data directory.
    pub fn of(flag: Option<&Path>) -> Self {
        let set = |name: &str| std::env::var_os(name);
        match (flag, set(VARIABLE)) {
            (Some(folder), _) => Self::Folder(folder.to_owned()),
            (None, Some(folder)) if folder.is_empty() => Self::Nowhere,
            (None, Some(folder)) => Self::Folder(folder.into()),
            (None, None) => data_directory(set).map_or(Self::Unknown, |data| Self::Folder(data.join(BELOW_DATA))),
        }
    }

    /// Returns whether the user named the location, so that it is not the default.
    pub fn is_named(flag: Option<&Path>) -> bool {
        flag.is_some() || std::env::var_os(VARIABLE).is_some_and(|folder| !folder.is_empty())
    }

    /// Returns the directory, for a command that needs one.
    ///
    /// # Errors
    /// There is no directory; the error says why.
    pub fn folder(self) -> anyhow::Result<PathBuf> {
        let why = match self {
            Self::Folder(folder) => return Ok(folder),
            Self::Nowhere => format!("{VARIABLE} is empty, which turns the archive off"),
            Self::Unknown => "neither XDG_DATA_HOME nor HOME is set to an absolute path".to_owned(),
        };
        bail!("no archive: {why}; name one with --archive")
    }

    /// Returns the path of a file of this name next to the archive; `None` where nothing is stored.
    pub fn sibling_file(&self, name: &str) -> Option<PathBuf> {
        match self {
            Self::Folder(folder) => Some(folder.with_file_name(name)),
            Self::Nowhere | Self::Unknown => None,
        }
    }

    /// Returns the archive, if there is one.
    ///
    /// # Errors
    /// Something else is there, or it cannot be examined.
    pub fn archive(&self) -> anyhow::Result<Option<Archive>> {
        let Self::Folder(folder) = self else { return Ok(None) };
        match folder.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => Archive::open(folder).map(Some),
        }
    }
}

/// Follows the XDG Base Directory Specification: a relative path is ignored.
fn data_directory(set: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    set("XDG_DATA_HOME").and_then(absolute).or_else(|| Some(set("HOME").and_then(absolute)?.join(".local/share")))
}

/// The record was not put into the archive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotKept {
    /// The reason.
    pub reason: String,
}

impl WarningKind for NotKept {
    const CODE: &'static str = "not_kept";

    fn message(&self) -> String {
        format!("the record was not archived: {}", self.reason)
    }

    fn remedy(&self) -> &'static str {
        "name an archive with --archive or CONTEND_ARCHIVE, write the record with --format json --output FILE, or \
         turn archiving off with --no-keep; the results are valid"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_directory_follows_the_xdg_specification() {
        let with = |pairs: &'static [(&str, &str)]| {
            data_directory(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
        };
        assert_eq!(with(&[("HOME", "/home/a")]), Some("/home/a/.local/share".into()));
        assert_eq!(with(&[("HOME", "/home/a"), ("XDG_DATA_HOME", "/data")]), Some("/data".into()));
        assert_eq!(with(&[("HOME", "/home/a"), ("XDG_DATA_HOME", "data")]), Some("/home/a/.local/share".into()));
        assert_eq!(with(&[]), None);
    }
}
