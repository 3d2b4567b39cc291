//! Git, run as a program on one bare repository.

use crate::environment;
use crate::process::{self, Memory};
use anyhow::Context;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

/// A fetch of what is asked for, and of nothing else.
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

    /// What a command answers that stays on this machine. The Ctrl-C that ended the measurement whose record it keeps
    /// does not reach it.
    pub fn local(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
        process::answer(self.here(arguments), arguments[0], Memory::Limited, input)
    }

    /// The same, as a line of text.
    pub fn line(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<String> {
        Ok(String::from_utf8(self.local(arguments, input)?)?.trim().to_owned())
    }

    /// The same of a command that makes a commit, at this time in seconds since 1970.
    pub fn dated(&self, arguments: &[&str], input: &[u8], unix_s: u64) -> anyhow::Result<String> {
        let (mut command, date) = (self.here(arguments), format!("@{unix_s} +0000"));
        command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        Ok(String::from_utf8(process::answer(command, arguments[0], Memory::Limited, input)?)?.trim().to_owned())
    }

    /// The same, read while it is answered.
    pub fn streamed<T>(
        &self,
        arguments: &[&str],
        input: &[u8],
        read: impl FnOnce(&mut ChildStdout) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        process::read(self.here(arguments), arguments[0], Memory::Limited, input, read)
    }

    /// What is done to all of the repository, with as much memory as that takes.
    pub fn whole(&self, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        process::answer(self.here(arguments), arguments[0], Memory::Free, &[])
    }

    /// What a command answers that fetches from a repository on this machine that is ours.
    fn neighbour(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
        let mut command = self.here(arguments);
        command.env("GIT_ALLOW_PROTOCOL", "file");
        process::answer(command, arguments[0], Memory::Free, input)
    }

    /// Takes these references, as `git fetch --stdin` reads them, from another repository of ours on this machine. They
    /// come last, when all that they lead to is on the disk.
    pub fn take(&self, from: &Self, references: &str) -> anyhow::Result<()> {
        let place = from.folder.to_str().context("the archive's path is not UTF-8")?;
        self.neighbour(&[&FETCH[..], &["--stdin", "--end-of-options", place]].concat(), references.as_bytes()).map(drop)
    }

    /// What a command answers that talks to another repository: with the user's settings, keys and terminal.
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

/// What a command says of the repository that the user stands in; `None` where there is none.
pub fn here(arguments: &[&str]) -> Option<String> {
    let output = environment::here().args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The names of the settings in a file, which are read and not followed.
///
/// # Errors
/// No Git, or a file that cannot be read.
pub fn names_of_settings(file: &Path) -> anyhow::Result<Vec<String>> {
    let mut command = environment::local();
    command.current_dir("/").args(["config", "--no-includes", "--null", "--name-only", "--list", "--file"]).arg(file);
    let names = process::answer(command, "config", Memory::Limited, &[])?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// An empty bare repository with this kind of hashes, and with settings that keep what was reported as kept through a
/// power failure, and all of it.
///
/// # Errors
/// No Git, or a folder that cannot be made.
pub fn create(folder: &Path, hashes: &str) -> anyhow::Result<()> {
    let git = Git::on(folder);
    let hashes = format!("--object-format={hashes}");
    git.local(&["init", "--bare", "--quiet", "--template=", &hashes], &[]).context("cannot create a Git repository")?;
    // As `git config` would, which is a process for each.
    let mut file = fs::OpenOptions::new().append(true).open(folder.join("config"))?;
    file.write_all(SETTINGS.as_bytes()).context("cannot create a Git repository")
}

/// Git's default leaves new loose objects and references to the page cache. Packing in the background would disturb the
/// next measurement.
const SETTINGS: &str = "[core]\n\tfsync = all\n[fetch]\n\tfsckObjects = true\n[gc]\n\tautoDetach = false\n";
