//! A directory for an archive that `contend` itself creates, and the output of commands there.

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The quickest of records: computed, not measured.
pub const RUN: &[&str] = &["model", "frames", "--frame", "1ms", "--quantum", "1ms", "--format", "json"];

pub struct Place {
    folder: TempDir,
    pub archive: PathBuf,
    /// The names of the records that were archived when it was created.
    pub first: String,
    pub second: String,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("archive.git");
        Self { archive, folder, first: String::new(), second: String::new() }
    }

    /// Creates an archive of two records.
    pub fn with_two() -> Self {
        let mut place = Self::new();
        place.first = place.keep();
        place.second = place.keep();
        place
    }

    /// Returns a path next to the archive.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        super::held::reports();
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.args(arguments).env("CONTEND_ARCHIVE", &self.archive);
        command
    }

    pub fn contend(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary starts")
    }

    /// Returns the output of a run that must succeed.
    pub fn stdout(&self, arguments: &[&str]) -> String {
        let output = self.contend(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the text on stderr; the exit status must be this, and stdout empty.
    pub fn refused(&self, arguments: &[&str], status: i32) -> String {
        let output = self.contend(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty() && !stderr.contains("panicked"), "{stderr}");
        stderr
    }

    /// Archives a record and returns its name.
    pub fn keep(&self) -> String {
        kept(&self.contend(RUN)).expect("it is kept")
    }

    pub fn ids(&self) -> Vec<String> {
        let list: Value = serde_json::from_str(&self.stdout(&["history", "--format", "json"])).unwrap();
        list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the remains of a killed Git or `contend`: locks, partial objects, fetches and archives.
    pub fn left(&self) -> Vec<String> {
        let names = ["*.lock", "tmp_*", "incoming-*", ".contend-archive-*"];
        let wanted = names.map(|name| ["-name", name]).join(&"-o");
        let found = Command::new("find").arg(self.archive.parent().unwrap()).args(wanted).output().unwrap();
        String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Returns Git's output, as a line; it must succeed.
    pub fn line(&self, arguments: &[&str], input: &[u8]) -> String {
        let output = self.git(arguments, input);
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub fn git(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut git = Command::new("git");
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "a@b");
        }
        git.arg("--git-dir").arg(&self.archive).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = git.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }
}

/// Runs the command to its end, and returns the peak memory of it and its children, in KiB.
pub fn limited(command: &mut Command) -> u64 {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(held_kib(child.id()));
        std::thread::sleep(Duration::from_millis(2));
    }
    most
}

/// Returns the private memory of a process and of all its descendants.
fn held_kib(pid: u32) -> u64 {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let status = read("status");
    let anonymous =
        status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse().ok());
    let children = read(&format!("task/{pid}/children"));
    anonymous.unwrap_or(0) + children.split_whitespace().map(|child| held_kib(child.parse().unwrap())).sum::<u64>()
}

/// Returns the name that a run reported.
pub fn kept(output: &Output) -> Option<String> {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    stderr.lines().find_map(|line| Some(line.strip_prefix("archived as ")?.to_owned()))
}

pub fn kill(pid: i32) {
    let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL);
}

/// A hang is one at any speed of the machine.
const HANGS: Duration = Duration::from_secs(300);

/// Waits until `look` finds a value.
pub fn waited_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    while began.elapsed() < HANGS {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it did not come about")
}
