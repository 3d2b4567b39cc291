//! A child process with limited input and output.

use anyhow::{Context, bail};
use rustix::fs::Mode;
use rustix::process::umask;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

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
pub fn answer(command: Command, name: &str, memory: Memory, input: &[u8]) -> anyhow::Result<Vec<u8>> {
    read(command, name, memory, input, |stdout| {
        let mut answer = Vec::new();
        stdout.take(MOST + 1).read_to_end(&mut answer).context("cannot read the output of git")?;
        if answer.len() as u64 > MOST {
            bail!("git {name}: its output exceeds the limit of {} MiB", MOST >> 20);
        }
        Ok(answer)
    })
}

/// Runs the command, and passes its output to `read` while the command produces it.
pub fn read<T>(
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
