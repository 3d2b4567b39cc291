//! The program contend, for tasks that only it can do: searched next to this program, then on the path.

use anyhow::Context;
use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Returns the path of the program `contend`.
///
/// # Errors
/// It is in neither place.
pub fn contend() -> anyhow::Result<PathBuf> {
    let directory = env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned()));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = directory.into_iter().chain(env::split_paths(&path).filter(|folder| folder.is_absolute()));
    let is_program =
        |file: &PathBuf| file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    folders
        .map(|folder| folder.join("contend"))
        .find(is_program)
        .context("contend: not found next to this program or in PATH")
}
