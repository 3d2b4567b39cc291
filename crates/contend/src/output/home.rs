//! The user's home folder, which is never made: one that is not there (of a service, of a container) has its reasons.

use std::path::{Path, PathBuf};

/// The home that is not there, if the folder would be in it.
pub fn missing_above(folder: &Path) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
    (folder.starts_with(&home) && !home.exists()).then_some(home)
}
