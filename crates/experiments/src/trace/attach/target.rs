//! The process that is to be watched: looked at before anything is opened.

use blame::names::{MOST_BYTES, message};
use harness::UsageError;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// A process that runs.
#[derive(Clone, Debug)]
pub struct Target {
    pub pid: u32,
    /// As it was called.
    pub words: Vec<String>,
    /// The SHA-256 of its program, where that can be read.
    pub program_sha256: Option<String>,
    /// Its start time, which distinguishes it from a later process with the same number.
    started: String,
}

impl Target {
    /// Finds the process.
    ///
    /// # Errors
    /// There is none of this number that can be watched.
    pub fn find(pid: u32) -> Result<Self, UsageError> {
        let refuse = |why: String| UsageError(format!("--pid {pid}: {why}"));
        if pid == std::process::id() {
            return Err(refuse("contend cannot trace itself; name another process".into()));
        }
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let Ok(status) = std::fs::read_to_string(folder.join("status")) else {
            return Err(refuse("no such process".into()));
        };
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(str::trim).unwrap_or_default().to_owned()
        };
        if field("State").starts_with(['Z', 'X']) {
            return Err(refuse("the process has ended (zombie)".into()));
        }
        let leader = field("Tgid");
        if leader != pid.to_string() {
            return Err(refuse(format!("a thread of process {leader}; use --pid {leader}")));
        }
        if let Err(error) = File::open(folder.join("maps")).and_then(|mut map| map.read(&mut [0])) {
            return Err(refuse(format!(
                "cannot read /proc/{pid}/maps: {}; run contend as root or as the owner of the process",
                message(&error)
            )));
        }
        let called = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        if called.is_empty() && std::fs::read_link(folder.join("exe")).is_err() {
            return Err(refuse("a kernel thread, which makes no futex calls; name a process".into()));
        }
        let words = called.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        let words = if words.is_empty() { vec![field("Name")] } else { words };
        let started = started(pid).ok_or_else(|| refuse("the process has just ended".into()))?;
        let program_sha256 = instruments::sha256::of_file(&folder.join("exe")).ok();
        Ok(Self { pid, words, program_sha256, started })
    }

    /// Whether it runs still.
    pub fn is_alive(&self) -> bool {
        started(self.pid).is_some_and(|started| started == self.started)
    }

    /// Its memory map as it is now.
    pub fn map(&self) -> Option<Vec<u8>> {
        let mut map = Vec::new();
        File::open(format!("/proc/{}/maps", self.pid)).ok()?.take(MOST_BYTES).read_to_end(&mut map).ok()?;
        Some(map)
    }

    /// How many threads it has.
    pub fn threads(&self) -> u32 {
        std::fs::read_dir(format!("/proc/{}/task", self.pid)).map_or(0, |tasks| tasks.count() as u32)
    }
}

/// When a process began, in the kernel's count; `None` once it has ended, though its parent may not have asked how.
fn started(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    (state != "Z" && state != "X").then(|| fields.nth(18).map(str::to_owned))?
}
