//! Runs of other programs.

use anyhow::{Context, ensure};
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A missing tool, so that a product is skipped.
#[derive(Debug)]
pub struct Skipped(pub String);

impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "skipped: needs {}", self.0)
    }
}

impl std::error::Error for Skipped {}

/// Returns whether the shell would find it.
pub fn is_here(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// Checks that the program is installed.
///
/// # Errors
/// It is missing.
pub fn need(program: &str, package: &str) -> anyhow::Result<()> {
    if is_here(program) { Ok(()) } else { Err(Skipped(format!("{program} (Debian: {package})")).into()) }
}

/// Runs it to its end.
///
/// # Errors
/// It does not start, or fails.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

/// Returns its output.
///
/// # Errors
/// As [`run`], or its output is not text.
pub fn output_of(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the moment of the sources, in seconds since 1970, so that the same sources make the same archives.
pub fn moment() -> String {
    let mut git = Command::new("git");
    output_of(git.args(["log", "-1", "--format=%ct"]))
        .map_or_else(|_| "0".to_owned(), |seconds| seconds.trim().to_owned())
}

/// Packs a whole directory, owned by root and with the moment of the sources.
///
/// # Errors
/// tar is missing, or fails.
pub fn tar(folder: &Path, entries: &str, file: &Path) -> anyhow::Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{}", moment())).arg("--use-compress-program=gzip -9n");
    run(tar.arg("-cf").arg(file).arg("-C").arg(folder).arg(entries))
}
