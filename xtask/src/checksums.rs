//! `SHA256SUMS`, as `sha256sum --check` reads it.

use crate::tool::said;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes it for these files of the folder.
///
/// # Errors
/// No `sha256sum`, or what it says.
pub fn write(files: &[PathBuf], folder: &Path) -> anyhow::Result<()> {
    let sums = said(Command::new("sha256sum").arg("--").args(files).current_dir(folder))?;
    fs::write(folder.join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    Ok(())
}
