//! The processes of the program: its start and its end, and processes of other users.
//!
//! The program is the user's: if contend is killed, it goes on. Its library then records into memory that nothing reads,
//! and is not loaded by programs that it starts later, since they do not find its file any more.
//!
//! Processes of another user cannot load contend's library. The library and the memory have no names in the file
//! system, and are reached through contend's own `/proc` directory, which the kernel opens to contend's user only. A
//! process that changes its user keeps the library that it has loaded. But a program that it then starts by `exec` has
//! to load the library itself, and may not.

use crate::trace::plan::Plan;
use crate::trace::warnings::{OutlivedProgram, Process, UnwatchedUser};
use anyhow::Context;
use blame::names::message;
use blame::sampling;
use harness::Interruption;
use instruments::clock::thread_cpu_ns;
use instruments::warning::Warning;
use interpose::{Memory, PLACE, Region};
use launch::preload;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::{File, read_dir, read_link, read_to_string};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus};
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

/// The program while it runs. It does not outlive this, unless contend is killed.
pub struct Running {
    child: Child,
    /// Tells of its end, where the kernel can.
    end: Option<OwnedFd>,
    /// The library that it loads.
    library: Option<File>,
    status: Option<ExitStatus>,
    /// Whether contend asked it to end.
    is_ended: bool,
}

/// Period at which its end is looked for, where the kernel does not report it.
const LOOK: Duration = Duration::from_millis(2);

const ASAN: &str = "ASAN_OPTIONS";

/// Returns the options of AddressSanitizer, as they are, and one more. It refuses to start where another library comes
/// before its own, since that one might replace `malloc`; contend's does not.
fn asan_options() -> OsString {
    let mut options = std::env::var_os(ASAN).unwrap_or_default();
    if !options.is_empty() {
        options.push(":");
    }
    options.push("verify_asan_link_order=0");
    options
}

impl Running {
    /// Starts the program; with the library, if there is memory that it records into.
    pub fn start(plan: &Plan, memory: Option<&Memory>, interruption: &Interruption) -> anyhow::Result<Self> {
        let mut command = plan.program.command();
        let mut library = None;
        if let Some(memory) = memory {
            let (file, path) = Memory::library().context("cannot copy the library into memory")?;
            command.env("LD_PRELOAD", preload(&path)).env(PLACE, memory.path()).env(ASAN, asan_options());
            library = Some(file);
        }
        if interruption.is_sigint_ignored() {
            // SAFETY: between fork and exec only this system call is made, which takes no pointer to memory.
            unsafe {
                command.pre_exec(|| {
                    libc::signal(libc::SIGINT, libc::SIG_IGN);
                    Ok(())
                });
            }
        }
        let child = command
            .spawn()
            .map_err(|error| anyhow::anyhow!("cannot start {}: {}", plan.program.path.display(), message(&error)))?;
        let end = Pid::from_raw(child.id() as i32).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Ok(Self { child, end, library, status: None, is_ended: false })
    }

    /// Returns the program's number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the inode of the library that the program and its children load.
    pub fn library(&self) -> Option<u64> {
        Some(self.library.as_ref()?.metadata().ok()?.ino())
    }

    /// Returns whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_some()
    }

    /// Waits for its end, for so long at most.
    pub fn wait(&mut self, at_most: Duration) {
        let until = Instant::now() + at_most;
        while !self.has_ended() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            match &self.end {
                // A signal only makes the loop look once more.
                Some(end) => drop(poll(&mut [PollFd::new(end, PollFlags::IN)], Timespec::try_from(left).ok().as_ref())),
                None => std::thread::sleep(LOOK.min(left)),
            }
        }
    }

    /// Requests its end, and ends it if it does not end: with the processes that it started, as far as they are
    /// watched.
    pub fn end(&mut self, region: Option<&Region>, patience: Duration, interruption: &Interruption) {
        // Ctrl-C at a terminal is for both, and most programs end by themselves.
        if interruption.is_requested() {
            self.wait(Duration::from_millis(300));
        }
        if !self.has_ended() {
            self.is_ended = true;
            kill(self.child.id(), libc::SIGTERM);
            self.wait(patience);
        }
        let is_stubborn = !self.has_ended();
        if is_stubborn {
            kill(self.child.id(), libc::SIGKILL);
            self.wait(Duration::from_secs(5));
        }
        if (is_stubborn || self.exit_signal().is_some())
            && let (Some(region), Some(library)) = (region, self.library())
        {
            for pid in descendants(region, self.child.id(), library) {
                signal_if(pid, Signal::KILL, || super::has_library_file(pid, library));
            }
        }
    }

    pub fn exit_status(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// Returns the status that a shell would give: 128 and the signal's number for a signal. `None` if contend ended
    /// it.
    pub fn shell_status(&self) -> Option<u8> {
        let by_signal = self.exit_signal().map(|signal| 128 + signal);
        self.exit_status().or(by_signal).filter(|_| !self.is_ended).map(|status| status as u8)
    }

    pub fn exit_signal(&self) -> Option<i32> {
        self.status.and_then(|status| status.signal())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn kill(pid: u32, signal: i32) {
    // SAFETY: the call takes no pointers.
    unsafe { libc::kill(pid as i32, signal) };
}

/// Sends a signal to a process that is the expected one while it is held, so that none goes to a later process with its
/// number.
pub fn signal_if(pid: u32, signal: Signal, is_expected: impl FnOnce() -> bool) {
    let handle = Pid::from_raw(pid as i32).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    if is_expected() {
        match handle {
            Some(Ok(handle)) => drop(pidfd_send_signal(handle, signal)),
            Some(Err(rustix::io::Errno::NOSYS)) => kill(pid, signal.as_raw()),
            _ => {}
        }
    }
}

/// Returns the watched processes that are alive. The program can write any number into the memory, so each must have the
/// library of this trace.
fn descendants(region: &Region, child: u32, library: u64) -> Vec<u32> {
    let pids = region.processes().map(|process| process.pid.load(Acquire)).filter(|&pid| pid != child);
    pids.filter(|pid| super::has_library_file(*pid, library)).collect()
}

/// The processes of the program that go on after it has ended: a daemon, or children that nothing waits for.
///
/// They are found by the library, which each of them has loaded, since a daemon has another parent and another session
/// than the program.
#[derive(Default)]
pub struct Outliving {
    /// Time since which the program is known to have ended.
    since: Option<Instant>,
    next: Option<Instant>,
    alive: Vec<Process>,
    /// All that were seen, in the order of their numbers.
    seen: BTreeMap<u32, Process>,
    is_told: bool,
}

/// Period of looks at the processes that go on.
const OUTLIVING_PERIOD: Duration = Duration::from_millis(50);
/// Children that end so soon after the program are a part of its end.
const AT_THE_END: Duration = Duration::from_millis(200);
/// The longest wait for the end of killed processes.
const AFTER_KILL: Duration = Duration::from_secs(1);

impl Outliving {
    /// Looks for processes of a program that has ended, if that is due. Returns whether there are none left, and those
    /// that are to be named now: all, once they have gone on for a moment.
    pub fn look(&mut self, program: u32, library: Option<u64>) -> (bool, Vec<Process>) {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        if self.next.is_some_and(|next| now < next) {
            return (false, Vec::new());
        }
        self.next = Some(now + OUTLIVING_PERIOD);
        self.find(program, library);
        let is_due = !self.alive.is_empty() && !self.is_told && now - since >= AT_THE_END;
        self.is_told |= is_due;
        (self.alive.is_empty(), if is_due { self.alive.clone() } else { Vec::new() })
    }

    /// Finds those that run, unless known ones do. A daemon forks twice, so that the first that was found has ended.
    fn find(&mut self, program: u32, library: Option<u64>) {
        self.alive.retain(|process| runs(process.pid));
        if self.alive.is_empty() {
            self.find_all(program, library);
        }
    }

    /// Finds all that run now.
    fn find_all(&mut self, program: u32, library: Option<u64>) {
        self.alive = library.map(|library| with_library(library, program)).unwrap_or_default();
        self.seen.extend(self.alive.iter().map(|process| (process.pid, process.clone())));
    }

    /// Returns the numbers of those that run.
    pub fn alive(&self) -> impl Iterator<Item = u32> {
        self.alive.iter().map(|process| process.pid)
    }

    /// Requests their end, and ends those that do not end. Processes that they start in the meantime are found by
    /// further looks, until none runs or the time is over.
    pub fn end(&mut self, program: u32, library: Option<u64>, patience: Duration) {
        for (signal, patience) in [(Signal::TERM, patience), (Signal::KILL, AFTER_KILL)] {
            let until = Instant::now() + patience;
            let mut requested = HashSet::new();
            loop {
                self.find_all(program, library);
                if self.alive.is_empty() {
                    return;
                }
                for pid in self.alive().filter(|pid| requested.insert(*pid)) {
                    signal_if(pid, signal, || library.is_some_and(|library| super::has_library_file(pid, library)));
                }
                let next = Instant::now() + OUTLIVING_PERIOD;
                while self.alive().any(runs) && Instant::now() < next.min(until) {
                    std::thread::sleep(LOOK);
                }
                if Instant::now() >= until {
                    break;
                }
            }
        }
    }

    /// Returns a warning that names those that went on for longer than a moment.
    pub fn warning(&self) -> Option<Warning> {
        let processes: Vec<Process> = self.seen.values().take(MOST_PROCESSES).cloned().collect();
        self.is_told.then(|| OutlivedProgram { processes }.into())
    }
}

/// Returns the processes that have this library, without the program itself.
///
/// A daemon's parent can fork after the list of processes was read, and end before it is looked at: then neither is found.
/// So the list is read again if a process has ended in the meantime: a few times, since a machine can fork without pause.
fn with_library(library: u64, program: u32) -> Vec<Process> {
    const MOST_SCANS: usize = 5;
    // A process that is older than contend is not the program's.
    let own = started(std::process::id()).unwrap_or(0);
    let mut ended = HashSet::from([program, std::process::id()]);
    let mut found = Vec::new();
    for _ in 0..MOST_SCANS {
        let known = ended.len();
        let numbers = read_dir("/proc").into_iter().flatten().flatten();
        for pid in numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
            if ended.contains(&pid) || started(pid).is_some_and(|began| began < own) {
                continue;
            }
            let is_its = has_library(pid) && super::has_library_file(pid, library);
            if is_zombie(pid) {
                ended.insert(pid);
            } else if is_its {
                found.push(Process { pid, name: sampling::name_of(pid, pid).unwrap_or_default() });
            }
        }
        if !found.is_empty() || ended.len() == known {
            break;
        }
    }
    found
}

/// Returns when a process began, in the kernel's ticks since it booted.
fn started(pid: u32) -> Option<u64> {
    stat(pid)?.split(' ').nth(19)?.parse().ok()
}

/// Returns whether a process with the library has not ended.
fn runs(pid: u32) -> bool {
    has_library(pid) && !is_zombie(pid)
}

fn is_zombie(pid: u32) -> bool {
    stat(pid).is_none_or(|stat| stat.starts_with(['Z', 'X']))
}

/// Returns the fields of `/proc/PID/stat` from the state on; the name before them can contain anything.
fn stat(pid: u32) -> Option<String> {
    let stat = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_owned())
}

/// Processes that were seen to be unable to load the library, by their numbers.
#[derive(Default)]
pub struct OtherUsers {
    found: BTreeMap<u32, OtherUser>,
    /// The processes that the program started and that have the library or are in another PID namespace, as they were seen
    /// last.
    started: Vec<u32>,
    next: Option<Instant>,
}

/// A process that cannot load the library.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherUser {
    program: String,
    place: Elsewhere,
}

/// The reason why it cannot.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Elsewhere {
    User(u32),
    UserNamespace,
    /// It has its own `/proc`, in which contend is not.
    PidNamespace,
}

/// Processes, and threads of each, that are looked at: the program can have as many as it likes.
const MOST_PROCESSES: usize = 128;
const MOST_THREADS: usize = 32;
/// The pause after a look, as a multiple of its CPU time: the program shares its CPUs with contend.
const PAUSE: u32 = 200;

impl OtherUsers {
    /// Looks at the program and the processes that it has started, unless it is too early for the next look.
    pub fn look(&mut self, program: u32) {
        let began = Instant::now();
        if self.next.is_some_and(|next| began < next) {
            return;
        }
        let before = thread_cpu_ns();
        self.look_at(program);
        self.next = Some(began + Duration::from_nanos(thread_cpu_ns() - before) * PAUSE);
    }

    fn look_at(&mut self, program: u32) {
        let own_user = rustix::process::geteuid().as_raw();
        let namespace = |of: &str, kind: &str| read_link(format!("/proc/{of}/ns/{kind}")).ok();
        let own = ["user", "pid"].map(|kind| namespace("self", kind));
        let (mut open, mut started) = (vec![program], Vec::new());
        let mut place = 0;
        while let Some(&pid) = open.get(place) {
            place += 1;
            open.extend(children(pid));
            open.truncate(MOST_PROCESSES);
            let of = pid.to_string();
            let is_apart = |kind: usize| {
                let found = namespace(&of, ["user", "pid"][kind]);
                found.is_some() && found != own[kind]
            };
            let has_library = has_library(pid);
            if place > 1 && (has_library || is_apart(1)) {
                started.push(pid);
            }
            let Some((name, user)) = name_and_user(pid).filter(|_| !has_library) else { continue };
            let place = if user != own_user {
                Elsewhere::User(user)
            } else if is_apart(0) {
                Elsewhere::UserNamespace
            } else if is_apart(1) && !sees_contend(pid) {
                Elsewhere::PidNamespace
            } else {
                continue;
            };
            self.found.insert(pid, OtherUser { program: name, place });
        }
        self.started = started;
    }

    /// Returns the processes that the program started and that have the library, or are in another PID namespace.
    pub fn started(&self) -> &[u32] {
        &self.started
    }

    pub fn found(&self) -> impl Iterator<Item = (u32, &OtherUser)> {
        self.found.iter().map(|(pid, other)| (*pid, other))
    }

    /// Returns a warning for each of them; `has_futex_calls` says whether their futex calls were traced.
    pub fn warnings(&self, has_futex_calls: bool) -> impl Iterator<Item = Warning> {
        self.found().map(move |(pid, other)| UnwatchedUser { process: other.words(pid), has_futex_calls }.into())
    }
}

impl OtherUser {
    /// Returns the process and its user, in words.
    pub fn words(&self, pid: u32) -> String {
        let program = &self.program;
        match self.place {
            Elsewhere::User(user) => format!("{program} (process {pid}) runs as user {user}"),
            Elsewhere::UserNamespace => format!("{program} (process {pid}) runs in another user namespace"),
            Elsewhere::PidNamespace => format!("{program} (process {pid}) runs in another PID namespace"),
        }
    }
}

/// Returns whether a process finds contend in its `/proc`, where the library is. A process that may not be looked at is
/// taken for one that does.
fn sees_contend(pid: u32) -> bool {
    let seen = format!("/proc/{pid}/root/proc/{}/fd", std::process::id());
    std::fs::metadata(seen).map_or_else(|error| error.kind() != std::io::ErrorKind::NotFound, |_| true)
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().take(MOST_THREADS);
    let of = |task: std::fs::DirEntry| read_to_string(task.path().join("children")).unwrap_or_default();
    tasks.flat_map(|task| of(task).split_ascii_whitespace().flat_map(str::parse).collect::<Vec<u32>>()).collect()
}

fn name_and_user(pid: u32) -> Option<(String, u32)> {
    let status = read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
    // Real, effective, saved, and that of the file system.
    let user = field("Uid")?.split('\t').nth(1)?.parse().ok()?;
    Some((field("Name")?.to_owned(), user))
}

/// The name of the library in a process's map.
const LIBRARY: &[u8] = b"memfd:contend-interpose";

/// Returns whether the library is in a process; `false` for a process whose map may not be read, since it has changed
/// its user.
pub fn has_library(pid: u32) -> bool {
    let map = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    map.windows(LIBRARY.len()).any(|name| name == LIBRARY)
}
