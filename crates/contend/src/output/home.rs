//! The user's home directory, which is never created: a missing one (of a service, of a container) is intended.

use std::path::{Path, PathBuf};

/// Returns the missing home directory, if the directory would be in it.
pub fn missing_above(folder: &Path) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
    (folder.starts_with(&home) && !home.exists()).then_some(home)
}
