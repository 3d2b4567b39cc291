//! Other programs, run.

use anyhow::{Context, ensure};
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// What is not here, so that something is not made.
#[derive(Debug)]
pub struct Skipped(pub String);

impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "skipped: needs {}", self.0)
    }
}

impl std::error::Error for Skipped {}

/// Whether the shell would find it.
pub fn is_here(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// # Errors
/// It is not here.
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

/// What it prints.
///
/// # Errors
/// As [`run`], or it prints what is no text.
pub fn said(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The moment of the sources, in seconds since 1970, so that the same sources make the same archives.
pub fn moment() -> String {
    let mut git = Command::new("git");
    said(git.args(["log", "-1", "--format=%ct"])).map_or_else(|_| "0".to_owned(), |seconds| seconds.trim().to_owned())
}

/// Packs all of a folder, everything root's and of the moment of the sources.
///
/// # Errors
/// No tar, or what it says.
pub fn tar(folder: &Path, entries: &str, file: &Path) -> anyhow::Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{}", moment())).arg("--use-compress-program=gzip -9n");
    run(tar.arg("-cf").arg(file).arg("-C").arg(folder).arg(entries))
}
