//! Helper programs, such as `gzip`, found in the absolute directories of PATH only.
//!
//! An empty or a relative entry of PATH means the working directory, to which another user may be able to write.

use rustix::fs::{Access, access};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the file of a helper program.
///
/// # Examples
///
/// ```
/// assert!(instruments::helper::find("sh").is_some_and(|shell| shell.is_absolute()));
/// ```
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    find_in(directories(), name)
}

/// Returns the file of a program that is installed with this one: in its directory, or in PATH.
#[must_use]
pub fn find_beside(name: &str) -> Option<PathBuf> {
    let own = env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned()));
    find_in(own.into_iter().chain(directories()), name)
}

/// Returns the absolute entries of PATH, for a program that searches it for its own helpers.
#[must_use]
pub fn path() -> OsString {
    env::join_paths(directories()).unwrap_or_default()
}

/// Returns a command of a helper program, which finds its own helpers in absolute directories only.
///
/// # Errors
///
/// Returns an error if no absolute directory of PATH has the program.
pub fn command(name: &str) -> io::Result<Command> {
    let mut command = Command::new(found(name)?);
    command.env("PATH", path());
    Ok(command)
}

/// Returns the shell's command of a line that the user typed, which is run with the user's own PATH.
///
/// # Errors
///
/// Returns an error if no absolute directory of PATH has a shell.
pub fn shell(line: impl AsRef<OsStr>) -> io::Result<Command> {
    let mut command = Command::new(found("sh")?);
    command.arg("-c").arg(line);
    Ok(command)
}

fn found(name: &str) -> io::Result<PathBuf> {
    let missing =
        || io::Error::new(io::ErrorKind::NotFound, format!("{name}: not found in the absolute entries of PATH"));
    find(name).ok_or_else(missing)
}

fn directories() -> impl Iterator<Item = PathBuf> {
    absolute(env::var_os("PATH").unwrap_or_default()).into_iter()
}

fn absolute(path: OsString) -> Vec<PathBuf> {
    env::split_paths(&path).filter(|directory| directory.is_absolute()).collect()
}

fn find_in(directories: impl Iterator<Item = PathBuf>, name: &str) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| file.is_file() && access(file.as_path(), Access::EXEC_OK).is_ok();
    let is_name = Path::new(name).file_name().is_some_and(|only| only == name);
    is_name.then(|| { directories }.map(|directory| directory.join(name)).find(is_program)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_entries_are_searched() {
        let found = |path: &str| absolute(path.into());
        assert_eq!(found(".::bin:/usr/bin:../x:/bin:"), [Path::new("/usr/bin"), Path::new("/bin")]);
        assert!(found("").is_empty());
    }

    #[test]
    fn a_name_is_not_a_path() {
        let find = |name: &str| find_in(absolute("/:/bin".into()).into_iter(), name);
        assert!(find("sh").is_some());
        for name in ["bin/sh", "../bin/sh", "/bin/sh", "sh/", "", ".", "tmp"] {
            assert_eq!(find(name), None, "{name:?}");
        }
    }
}
