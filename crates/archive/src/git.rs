//! Git, run as a program on one bare repository: with a cleaned environment, and with limited input and output.

use anyhow::{Context, bail};
use instruments::helper;
use rustix::fs::Mode;
use rustix::process::{Pid, Resource, Rlimit, prlimit, umask};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

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
        answer(self.here(arguments), arguments[0], Memory::Limited, input)
    }

    /// Runs a local command, and returns its output as a line of text.
    pub fn line(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<String> {
        Ok(String::from_utf8(self.local(arguments, input)?)?.trim().to_owned())
    }

    /// Runs a local command that makes a commit at this time, in seconds since 1970.
    pub fn dated(&self, arguments: &[&str], input: &[u8], unix_s: u64) -> anyhow::Result<String> {
        let (mut command, date) = (self.here(arguments), format!("@{unix_s} +0000"));
        command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        Ok(String::from_utf8(answer(command, arguments[0], Memory::Limited, input)?)?.trim().to_owned())
    }

    /// Runs a local command, and reads its output while the command produces it.
    pub fn streamed<T>(
        &self,
        arguments: &[&str],
        input: &[u8],
        read: impl FnOnce(&mut ChildStdout) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        streamed_output(self.here(arguments), arguments[0], Memory::Limited, input, read)
    }

    /// Runs a command on the whole repository, with as much memory as it needs.
    pub fn maintenance(&self, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        answer(self.here(arguments), arguments[0], Memory::Free, &[])
    }

    /// Runs a command that fetches from another repository of contend on this machine.
    fn neighbour(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
        let mut command = self.here(arguments);
        command.env("GIT_ALLOW_PROTOCOL", "file");
        answer(command, arguments[0], Memory::Free, input)
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
        answer(self.on_it(remote(), arguments), arguments[0], memory, &[])
    }

    fn here(&self, arguments: &[&str]) -> Command {
        let mut command = self.on_it(local(), arguments);
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
    let output = not_on_archive().args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the names of the settings in a file, without following its includes.
///
/// # Errors
/// Git is missing, or the file cannot be read.
pub fn names_of_settings(file: &Path) -> anyhow::Result<Vec<String>> {
    let mut command = local();
    command.current_dir("/").args(["config", "--no-includes", "--null", "--name-only", "--list", "--file"]).arg(file);
    let names = answer(command, "config", Memory::Limited, &[])?;
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

// The environment of a Git process that works for the archive: no variables of Git except those listed here, and
// settings that prevent it from running other programs.

/// Variables that control access to other repositories and the messages of it; they do not affect the archive.
const FOR_REMOTES: &[&str] = &[
    "GIT_ALLOW_PROTOCOL",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_HTTP_LOW_SPEED_LIMIT",
    "GIT_HTTP_LOW_SPEED_TIME",
    "GIT_HTTP_PROXY_AUTHMETHOD",
    "GIT_HTTP_USER_AGENT",
    "GIT_PROTOCOL_FROM_USER",
    "GIT_PROXY_COMMAND",
    "GIT_PROXY_SSL_CAINFO",
    "GIT_PROXY_SSL_CERT",
    "GIT_PROXY_SSL_CERT_PASSWORD_PROTECTED",
    "GIT_PROXY_SSL_KEY",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_CERT_PASSWORD_PROTECTED",
    "GIT_SSL_CIPHER_LIST",
    "GIT_SSL_KEY",
    "GIT_SSL_NO_VERIFY",
    "GIT_SSL_VERSION",
    "GIT_TERMINAL_PROMPT",
];

/// Settings that override every settings file.
const OVERRIDING_SETTINGS: &[&str] = &["core.hooksPath=/dev/null", "core.fsmonitor=false"];
/// A fetched object that is too large for a record is streamed to the disk.
///
/// One malformed object must not end the whole fetch; it is found where the archive takes it.
const SETTINGS_FOR_REMOTES: &[&str] = &["core.bigFileThreshold=16m", "fetch.fsckObjects=false"];

/// Returns a `git` that stays on this machine and in this repository.
///
/// It reads no settings of the user (a signature, a hook), and requests no missing object from a remote.
pub fn local() -> Command {
    let mut command = alone(&[]);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command
}

/// Returns a `git` for the repository of the working directory: the user's settings decide whether it is trusted.
fn not_on_archive() -> Command {
    alone(&["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"])
}

fn alone(kept: &[&str]) -> Command {
    let mut command = bare(kept);
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "").env("GIT_TERMINAL_PROMPT", "0");
    command
}

/// Returns a `git` that talks to another repository, with the user's settings, keys and terminal.
pub fn remote() -> Command {
    let mut command = bare(FOR_REMOTES);
    SETTINGS_FOR_REMOTES.iter().for_each(|setting| _ = command.args(["-c", setting]));
    command
}

fn bare(kept: &[&str]) -> Command {
    // A command of a file that does not exist fails when it is started, with the message of a missing Git.
    let mut command = helper::command("git").unwrap_or_else(|_| Command::new("/nonexistent/git"));
    let is_gits = |name: &OsStr| name.as_bytes().starts_with(b"GIT_");
    let is_kept = |name: &OsStr| kept.iter().any(|kept| name == *kept);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_gits(name) && !is_kept(name)) {
        command.env_remove(name);
    }
    OVERRIDING_SETTINGS.iter().for_each(|setting| _ = command.args(["-c", setting]));
    // No replacement objects are used.
    command.env("LC_ALL", "C").env("GIT_NO_REPLACE_OBJECTS", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "contend").env(format!("GIT_{role}_EMAIL"), "contend@localhost");
    }
    command
}

/// The maximum size of an answer that is held in memory: a list of all records, or one of them.
const MOST: u64 = 64 << 20;
/// The maximum size that is kept of the child's stderr.
const MOST_STDERR: u64 = 16 << 10;
/// The memory that a child may allocate: content from other users may expand without end.
const MEMORY: u64 = 256 << 20;

/// Whether the child's memory is limited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Limited,
    Free,
}

/// Returns whether an error of the archive, or of a Git that worked for it, is a full disk.
pub fn is_disk_full(error: &anyhow::Error) -> bool {
    let is_full = |cause: &io::Error| matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    // Git runs in the locale C.
    let message = format!("{error:#}");
    let is_reported =
        ["No space left on device", "Disk quota exceeded"].into_iter().any(|words| message.contains(words));
    is_reported || error.chain().filter_map(|cause| cause.downcast_ref()).any(is_full)
}

/// Returns the whole output of the command.
///
/// # Errors
/// It cannot be run, it fails, or its output is too large.
fn answer(command: Command, name: &str, memory: Memory, input: &[u8]) -> anyhow::Result<Vec<u8>> {
    streamed_output(command, name, memory, input, |stdout| {
        let mut answer = Vec::new();
        stdout.take(MOST + 1).read_to_end(&mut answer).context("cannot read the output of git")?;
        if answer.len() as u64 > MOST {
            bail!("git {name}: its output exceeds the limit of {} MiB", MOST >> 20);
        }
        Ok(answer)
    })
}

/// Runs the command, and passes its output to `read` while the command produces it.
fn streamed_output<T>(
    mut command: Command,
    name: &str,
    memory: Memory,
    input: &[u8],
    read: impl FnOnce(&mut ChildStdout) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut child = started(&mut command, memory)?;
    let (mut stdin, mut stdout, mut stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // Writes and reads concurrently: a pipe has a small capacity, and either side may fill it first.
    let (found, message, status) = std::thread::scope(|scope| {
        // A child that does not read all of it gives the reason when it ends.
        scope.spawn(move || stdin.take().map(|mut pipe| pipe.write_all(input)));
        let message = scope.spawn(move || stderr.as_mut().map(beginning).unwrap_or_default());
        let found = stdout.as_mut().context("git has no standard output").and_then(read);
        // If its output was not read to the end, the child ends with a broken pipe.
        drop(stdout.take());
        let status = child.wait();
        (found, message.join().unwrap_or_default(), status)
    });
    let status = status.context("cannot wait for git")?;
    match found {
        Ok(found) if status.success() => Ok(found),
        Err(error) if status.success() || message.is_empty() => Err(error),
        _ => bail!("git {name}: {} ({status})", words(&message)),
    }
}

fn started(command: &mut Command, memory: Memory) -> anyhow::Result<Child> {
    // Under a umask of 0, as some containers have it, Git would create files that every user may change.
    let write_for_us = || {
        let inherited = umask(Mode::empty());
        umask(inherited | Mode::WOTH);
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes two system calls, allocates nothing and takes no lock.
    unsafe { command.pre_exec(write_for_us) };
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!("git: command not found in PATH; on Debian: apt-get install git"),
        _ => anyhow::Error::new(error).context("cannot run git"),
    })?;
    if memory == Memory::Limited {
        let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
        // Where the limit cannot be set, a smaller part is protected and everything else works.
        let _ = prlimit(Some(Pid::from_child(&child)), Resource::Data, limit);
    }
    Ok(child)
}

fn beginning(stderr: &mut impl Read) -> Vec<u8> {
    let mut message = Vec::new();
    let _ = stderr.take(MOST_STDERR).read_to_end(&mut message);
    let _ = io::copy(stderr, &mut io::sink());
    message
}

fn words(message: &[u8]) -> String {
    let message = String::from_utf8_lossy(message).into_owned();
    let message: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if message.is_empty() { "failed without a message".into() } else { message.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_is_recognised_by_error_code_and_message_of_git() {
        let direct =
            anyhow::Error::new(io::Error::from(io::ErrorKind::StorageFull)).context("nothing can be put there");
        let of_git = anyhow::anyhow!("git fetch: fatal: write error: No space left on device (exit status: 128)");
        assert!(is_disk_full(&direct) && is_disk_full(&of_git));
        assert!(!is_disk_full(&anyhow::Error::new(io::Error::from(io::ErrorKind::PermissionDenied))));
    }
}
