//! Git, run as a program on one bare repository.

use crate::environment;
use crate::process::{self, Memory};
use anyhow::Context;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

/// The arguments of a fetch of exactly the requested references.
pub const FETCH: [&str; 7] = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-prune",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--no-recurse-submodules",
];

/// The repository that commands are run on.
#[derive(Clone, Debug)]
pub struct Git {
    folder: PathBuf,
}

impl Git {
    pub fn on(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs a command that stays on this machine and returns its output.
    ///
    /// The Ctrl-C that ended the measurement of the stored record does not reach it.
    pub fn local(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
        process::answer(self.here(arguments), arguments[0], Memory::Limited, input)
    }

    /// Runs a local command, and returns its output as a line of text.
    pub fn line(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<String> {
        Ok(String::from_utf8(self.local(arguments, input)?)?.trim().to_owned())
    }

    /// Runs a local command that makes a commit at this time, in seconds since 1970.
    pub fn dated(&self, arguments: &[&str], input: &[u8], unix_s: u64) -> anyhow::Result<String> {
        let (mut command, date) = (self.here(arguments), format!("@{unix_s} +0000"));
        command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        Ok(String::from_utf8(process::answer(command, arguments[0], Memory::Limited, input)?)?.trim().to_owned())
    }

    /// Runs a local command, and reads its output while the command produces it.
    pub fn streamed<T>(
        &self,
        arguments: &[&str],
        input: &[u8],
        read: impl FnOnce(&mut ChildStdout) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        process::read(self.here(arguments), arguments[0], Memory::Limited, input, read)
    }

    /// Runs a command on the whole repository, with as much memory as it needs.
    pub fn maintenance(&self, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        process::answer(self.here(arguments), arguments[0], Memory::Free, &[])
    }

    /// Runs a command that fetches from another repository of contend on this machine.
    fn neighbour(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
        let mut command = self.here(arguments);
        command.env("GIT_ALLOW_PROTOCOL", "file");
        process::answer(command, arguments[0], Memory::Free, input)
    }

    /// Takes these references, as `git fetch --stdin` reads them, from another repository of contend on this machine.
    ///
    /// They are written last, when all objects that they lead to are on the disk.
    pub fn take(&self, from: &Self, references: &str) -> anyhow::Result<()> {
        let place = from.folder.to_str().context("the archive's path is not UTF-8")?;
        self.neighbour(&[&FETCH[..], &["--stdin", "--end-of-options", place]].concat(), references.as_bytes()).map(drop)
    }

    /// Runs a command that talks to another repository, with the user's settings, keys and terminal.
    pub fn remote(&self, arguments: &[&str], memory: Memory) -> anyhow::Result<Vec<u8>> {
        process::answer(self.on_it(environment::remote(), arguments), arguments[0], memory, &[])
    }

    fn here(&self, arguments: &[&str]) -> Command {
        let mut command = self.on_it(environment::local(), arguments);
        command.process_group(0);
        command
    }

    fn on_it(&self, mut command: Command, arguments: &[&str]) -> Command {
        command.arg("--git-dir").arg(&self.folder).args(arguments);
        command
    }
}

/// Returns the output of a command on the repository of the working directory; `None` where there is none.
pub fn here(arguments: &[&str]) -> Option<String> {
    let output = environment::here().args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the names of the settings in a file, without following its includes.
///
/// # Errors
/// Git is missing, or the file cannot be read.
pub fn names_of_settings(file: &Path) -> anyhow::Result<Vec<String>> {
    let mut command = environment::local();
    command.current_dir("/").args(["config", "--no-includes", "--null", "--name-only", "--list", "--file"]).arg(file);
    let names = process::answer(command, "config", Memory::Limited, &[])?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// Creates an empty bare repository with this hash algorithm, and with settings that keep every stored record through a
/// power failure.
///
/// # Errors
/// Git is missing, or the directory cannot be created.
pub fn create(folder: &Path, hashes: &str) -> anyhow::Result<()> {
    let git = Git::on(folder);
    let hashes = format!("--object-format={hashes}");
    git.local(&["init", "--bare", "--quiet", "--template=", &hashes], &[]).context("cannot create a Git repository")?;
    // Equivalent to `git config`, which would be a process for each setting.
    let mut file = fs::OpenOptions::new().append(true).open(folder.join("config"))?;
    file.write_all(SETTINGS.as_bytes()).context("cannot create a Git repository")
}

/// The settings of the archive.
///
/// Git's default leaves new loose objects and references to the page cache. Packing in the background would disturb the
/// next measurement.
const SETTINGS: &str = "[core]\n\tfsync = all\n[fetch]\n\tfsckObjects = true\n[gc]\n\tautoDetach = false\n";
