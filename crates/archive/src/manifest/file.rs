//! Of a file, what Git keeps and what it forgets.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileState {
    pub path: String,
    /// Git's hash of its content.
    pub hash: Option<String>,
    pub bytes: u64,
    /// In octal, with the type: `100755`.
    pub mode: String,
    pub user_id: u32,
    pub group_id: u32,
    /// When it was last written, in seconds and nanoseconds since 1970.
    pub modified_unix_s: i64,
    pub modified_ns: i64,
    /// By name, the bytes in hexadecimal.
    pub extended_attributes: BTreeMap<String, String>,
}

impl FileState {
    /// Reads the state of a file with this hash.
    ///
    /// # Errors
    /// The file cannot be looked at.
    pub fn of(path: &Path, hash: Option<String>) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self {
            path: path.display().to_string(),
            hash,
            bytes: found.len(),
            mode: format!("{:o}", found.mode()),
            user_id: found.uid(),
            group_id: found.gid(),
            modified_unix_s: found.mtime(),
            modified_ns: found.mtime_nsec(),
            // A file system without them has none.
            extended_attributes: extended_attributes(path).unwrap_or_default(),
        })
    }
}

/// The kernel's limits of a list of names and of a value (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const LARGEST: usize = 65_536;

fn extended_attributes(path: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut names = vec![0_u8; LARGEST];
    let length = rustix::fs::listxattr(path, &mut names)?;
    let mut found = BTreeMap::new();
    for name in names[..length].split_inclusive(|&byte| byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
        let mut value = vec![0_u8; LARGEST];
        if let Ok(length) = rustix::fs::getxattr(path, name, &mut value) {
            let digits: String = value[..length].iter().map(|byte| format!("{byte:02x}")).collect();
            found.insert(name.to_string_lossy().into_owned(), digits);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn mode_owner_time_and_attributes_are_noted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o640)).unwrap();
        let set = rustix::fs::setxattr(file.path(), "user.colour", b"red", rustix::fs::XattrFlags::CREATE);
        let state = FileState::of(file.path(), None).unwrap();
        assert_eq!(state.mode, "100640");
        assert_eq!(state.user_id, rustix::process::geteuid().as_raw());
        assert!(state.modified_unix_s > 1_600_000_000);
        match set {
            Ok(()) => assert_eq!(state.extended_attributes["user.colour"], "726564"),
            Err(_) => println!("skipped: needs a file system with extended attributes"),
        }
    }
}
