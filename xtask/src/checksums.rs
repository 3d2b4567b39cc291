//! `SHA256SUMS`, as `sha256sum --check` reads it.

use crate::tool::output_of;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

const NAME: &str = "SHA256SUMS";

/// Writes the file for all files in the directory: those that an earlier run made for another processor are to be
/// checked too.
///
/// # Errors
/// `sha256sum` is missing, or fails.
pub fn write(folder: &Path) -> anyhow::Result<()> {
    let sums = output_of(Command::new("sha256sum").arg("--").args(files_of(folder)?).current_dir(folder))?;
    fs::write(folder.join(NAME), &sums)?;
    print!("{sums}");
    Ok(())
}

/// Returns the names of the files to sum, in order.
fn files_of(folder: &Path) -> anyhow::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name() != NAME {
            names.push(entry.file_name());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_of_an_earlier_run_keeps_its_sum() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("stage")).unwrap();
        for name in ["of-x86_64.tar.gz", "of-aarch64.tar.gz"] {
            fs::write(folder.path().join(name), name).unwrap();
            write(folder.path()).unwrap();
        }
        let sums = fs::read_to_string(folder.path().join(NAME)).unwrap();
        let names: Vec<&str> = sums.lines().map(|line| line.split_whitespace().last().unwrap()).collect();
        assert_eq!(names, ["of-aarch64.tar.gz", "of-x86_64.tar.gz"]);
        let checks = Command::new("sha256sum").args(["--check", "--quiet", NAME]).current_dir(folder.path()).status();
        assert!(checks.unwrap().success());
    }
}
