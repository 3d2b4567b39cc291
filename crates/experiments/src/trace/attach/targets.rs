//! The processes that are traced from outside: those that the user names, those of a control group or a container, and
//! the processes that a service manager starts in their place.

use super::containers::{Group, is_managed};
use crate::trace::measure::signal_if;
use crate::trace::warnings::{Process, by_user};
use blame::names::message;
use blame::sampling;
use harness::UsageError;
use rustix::param::clock_ticks_per_second;
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashSet;
use std::fs::{File, read_dir, read_link, read_to_string};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A process that runs.
#[derive(Clone, Debug)]
pub struct Target {
    pub pid: u32,
    /// The command line of the process.
    pub words: Vec<String>,
    /// The SHA-256 of its program, where that can be read.
    pub program_sha256: Option<String>,
    /// Its start time, which distinguishes it from a later process with the same number.
    started: String,
    /// When it was seen last, in the units of its start time: a successor began later.
    seen_ticks: u64,
    origin: Origin,
}

/// The properties that a process has in common with its successor.
#[derive(Clone, Debug, Default, PartialEq)]
struct Origin {
    /// The path of its program.
    program: PathBuf,
    /// The content of `/proc/PID/cgroup`.
    cgroup: String,
    parent: u32,
}

impl Target {
    /// Finds the process.
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
            return Err(refuse(match has_other_threads(pid) {
                true => "its first thread has ended, and with it the kernel's view of its memory; trace the program from its \
                         start instead: `contend trace -- PROGRAM`"
                    .into(),
                false => "the process has ended (zombie)".into(),
            }));
        }
        let leader = field("Tgid");
        if leader != pid.to_string() {
            return Err(refuse(format!("a thread of process {leader}; use --pid {leader}")));
        }
        if let Err(error) = File::open(folder.join("maps")).and_then(|mut map| map.read(&mut [0])) {
            return Err(refuse(format!(
                "cannot read /proc/{pid}/maps: {}; {}",
                message(&error),
                by_user(
                    "run contend as root or as the owner of the process",
                    "the kernel keeps it from this superuser: run contend outside of the container, or with CAP_SYS_PTRACE"
                )
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
        Ok(Self { pid, words, program_sha256, started, seen_ticks: ticks_since_boot(), origin: Origin::of(pid) })
    }

    /// Returns a process that contend has just started.
    pub fn of_child(pid: u32, words: Vec<String>, program_sha256: Option<String>) -> Self {
        let (started, seen_ticks) = (started(pid).unwrap_or_default(), ticks_since_boot());
        Self { pid, words, program_sha256, started, seen_ticks, origin: Origin::default() }
    }

    /// Returns whether it runs still.
    pub fn is_alive(&self) -> bool {
        started(self.pid).is_some_and(|started| started == self.started)
    }

    /// Sends it a signal, if it runs still.
    pub fn signal(&self, signal: Signal) {
        signal_if(self.pid, signal, || self.is_alive());
    }

    fn named(&self) -> Process {
        let program = self.words.first().map_or("", String::as_str);
        let name = program.rsplit('/').next().unwrap_or(program).to_owned();
        Process { pid: self.pid, name }
    }

    /// Returns how long its manager may take to start a successor.
    fn restart_time(&self) -> Duration {
        if is_managed(&self.origin.cgroup) {
            RESTART_BY_MANAGER
        } else if self.origin.parent > 1 && started(self.origin.parent).is_some() {
            RESTART_BY_PARENT
        } else {
            Duration::ZERO
        }
    }

    /// Finds the process that runs in its place: one that began after this one was seen last, with the same program, in
    /// the same control group of a service or a container, or of the same parent.
    fn successor(&self, known: &[Known]) -> Option<Self> {
        let began = |started: &str| started.parse::<u64>().unwrap_or(0);
        let is_it = |pid: &u32| {
            let origin = || Origin::of(*pid);
            let is_like = |other: Origin| {
                let is_same_group = is_managed(&other.cgroup) && other.cgroup == self.origin.cgroup;
                let is_same_parent = other.parent > 1 && other.parent == self.origin.parent;
                other.program == self.origin.program && (is_same_group || is_same_parent)
            };
            known.iter().all(|known| known.target.pid != *pid || !known.is_alive)
                && started(*pid).is_some_and(|started| began(&started) >= self.seen_ticks)
                && is_like(origin())
        };
        numbers().filter(is_it).find_map(|pid| Self::find(pid).ok())
    }
}

impl Origin {
    fn of(pid: u32) -> Self {
        let program = read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        // An upgraded program is deleted, and its successor has the file that is at its path now.
        let program = program.to_string_lossy().trim_end_matches(" (deleted)").into();
        let parent = stat(pid).and_then(|stat| stat.split(' ').nth(1)?.parse().ok()).unwrap_or(0);
        Self { program, cgroup: read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default(), parent }
    }
}

/// Returns the numbers of all processes.
fn numbers() -> impl Iterator<Item = u32> {
    let entries = read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the present time in the units and from the start of [`started`].
fn ticks_since_boot() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let per_s = clock_ticks_per_second();
    now.tv_sec as u64 * per_s + now.tv_nsec as u64 * per_s / 1_000_000_000
}

/// Returns when a process began, in the kernel's count; `None` once it has ended, though its parent may not have asked
/// how.
fn started(pid: u32) -> Option<String> {
    let stat = stat(pid)?;
    let mut fields = stat.split(' ');
    let has_ended = match fields.next()? {
        "X" => true,
        // Its first thread has ended, perhaps before the others.
        "Z" => !has_other_threads(pid),
        _ => false,
    };
    (!has_ended).then(|| fields.nth(18).map(str::to_owned))?
}

fn has_other_threads(pid: u32) -> bool {
    sampling::threads(pid).any(|thread| thread != pid)
}

/// Returns the fields of `/proc/PID/stat` from the state on; the name before them can contain anything.
fn stat(pid: u32) -> Option<String> {
    let stat = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_owned())
}

/// Times in which a successor is looked for.
const RESTART_BY_MANAGER: Duration = Duration::from_secs(10);
const RESTART_BY_PARENT: Duration = Duration::from_secs(1);
/// Period at which processes that come are looked for.
const PERIOD: Duration = Duration::from_millis(250);
/// Processes that are traced at most, those that have ended included: each has its memory map.
const MOST: usize = 512;
/// Further processes of a group that are counted.
const MOST_REFUSED: usize = 65_536;

/// A process that is or was traced.
struct Known {
    target: Target,
    is_alive: bool,
    /// The time until which a successor is looked for.
    until: Option<Instant>,
}

/// All processes of a trace. A process keeps its place.
pub struct Targets {
    known: Vec<Known>,
    group: Option<Group>,
    /// Since when a group has no processes.
    empty: Option<Instant>,
    next: Instant,
    /// Pairs of a process that ended and its successor.
    pub restarts: Vec<(Process, Process)>,
    /// Processes that found no room.
    pub left_out: u32,
    /// Those of them in a group, by their numbers and start times: each look finds them again.
    refused: HashSet<(u32, String)>,
}

impl Targets {
    /// Finds the processes with these numbers.
    ///
    /// # Errors
    /// One of them cannot be traced.
    pub fn of_pids(pids: &[u32]) -> Result<Self, UsageError> {
        let mut pids = pids.to_vec();
        pids.sort_unstable();
        pids.dedup();
        let targets = pids.into_iter().map(Target::find).collect::<Result<Vec<Target>, UsageError>>()?;
        Ok(Self::new(targets, None))
    }

    /// Finds the processes of a control group.
    ///
    /// # Errors
    /// There is no such group, or no process in it can be traced.
    pub fn of_cgroup(path: &Path) -> Result<Self, UsageError> {
        let named = format!("--cgroup {}", path.display());
        let group = Group::of_cgroup(path).ok_or_else(|| {
            UsageError(format!("{named}: no such control group; name a directory below /sys/fs/cgroup"))
        })?;
        Self::of_group(group, &named)
    }

    /// Finds the processes of a container.
    ///
    /// # Errors
    /// There is no such container, or no process in it can be traced.
    pub fn of_container(named: &str) -> Result<Self, UsageError> {
        let group = Group::of_container(Path::new("/"), named).map_err(|known| {
            let known = known.iter().map(|id| id.chars().take(12).collect()).collect::<Vec<String>>();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            UsageError(format!("--container {named}: not found, or not unique; running containers: {known}"))
        })?;
        Self::of_group(group, &format!("--container {named}"))
    }

    fn of_group(group: Group, named: &str) -> Result<Self, UsageError> {
        let (mut found, mut refusal) = (Vec::new(), None);
        for pid in group.processes() {
            match Target::find(pid) {
                Ok(target) => found.push(target),
                Err(UsageError(why)) => refusal = Some(why),
            }
        }
        if found.is_empty() {
            let why = refusal.map_or_else(|| "no process is in it".to_owned(), |why| why.replace("--pid", "process"));
            return Err(UsageError(format!("{named}: {why}")));
        }
        Ok(Self::new(found, Some(group)))
    }

    /// Returns a process that contend has started.
    pub fn of_child(target: Target) -> Self {
        Self::new(vec![target], None)
    }

    fn new(targets: Vec<Target>, group: Option<Group>) -> Self {
        let known = targets.into_iter().map(|target| Known { target, is_alive: true, until: None }).collect();
        Self {
            known,
            group,
            empty: None,
            next: Instant::now(),
            restarts: Vec::new(),
            left_out: 0,
            refused: HashSet::new(),
        }
    }

    /// Returns the first process.
    pub fn first(&self) -> &Target {
        &self.known[0].target
    }

    /// Returns the processes that run, with their places.
    pub fn alive(&self) -> impl Iterator<Item = (u32, &Target)> {
        self.all().filter(|(place, _)| self.known[*place as usize].is_alive)
    }

    /// Returns all processes, with their places.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Target)> {
        self.known.iter().enumerate().map(|(place, known)| (place as u32, &known.target))
    }

    /// Adds a process that a traced one has started.
    pub fn adopt(&mut self, pid: u32) {
        if !self.alive().any(|(_, target)| target.pid == pid) {
            let words = self.first().words.clone();
            self.add(Target::of_child(pid, words, None));
        }
    }

    fn add(&mut self, target: Target) {
        if self.known.len() < MOST {
            self.known.push(Known { target, is_alive: true, until: None });
        } else {
            self.left_out += 1;
        }
    }

    /// Looks for processes that ended and that came, if that is due; returns the new pairs of [`Self::restarts`].
    pub fn look(&mut self) -> Vec<(Process, Process)> {
        let now = Instant::now();
        for known in self.known.iter_mut().filter(|known| known.is_alive) {
            let at_ticks = ticks_since_boot();
            if known.target.is_alive() {
                known.target.seen_ticks = at_ticks;
            } else {
                known.is_alive = false;
                known.until = Some(known.target.restart_time()).filter(|time| !time.is_zero()).map(|time| now + time);
                self.next = now;
            }
        }
        if now < self.next {
            return Vec::new();
        }
        self.next = now + PERIOD;
        match &self.group {
            Some(group) => self.look_in_group(&group.clone(), now),
            None => self.look_for_successors(now),
        }
    }

    fn look_in_group(&mut self, group: &Group, now: Instant) -> Vec<(Process, Process)> {
        let mut new = Vec::new();
        for known in &mut self.known {
            known.until = known.until.filter(|until| now < *until);
        }
        for pid in group.processes() {
            if self.alive().any(|(_, target)| target.pid == pid) {
                continue;
            }
            if self.known.len() >= MOST {
                if let Some(began) = started(pid)
                    && self.refused.len() < MOST_REFUSED
                    && self.refused.insert((pid, began))
                {
                    self.left_out += 1;
                }
                continue;
            }
            let Ok(target) = Target::find(pid) else { continue };
            let is_like =
                |known: &&mut Known| known.until.is_some() && known.target.origin.program == target.origin.program;
            // One that ended is found again once.
            if let Some(old) = self.known.iter_mut().find(is_like) {
                old.until = None;
                new.push((old.target.named(), target.named()));
            }
            self.add(target);
        }
        self.empty = if self.alive().next().is_some() { None } else { self.empty.or(Some(now)) };
        self.restarts.extend(new.iter().cloned());
        new
    }

    fn look_for_successors(&mut self, now: Instant) -> Vec<(Process, Process)> {
        let mut new = Vec::new();
        for place in 0..self.known.len() {
            let Some(until) = self.known[place].until else { continue };
            if let Some(target) = self.known[place].target.successor(&self.known) {
                self.known[place].until = None;
                new.push((self.known[place].target.named(), target.named()));
                self.add(target);
            } else if now >= until {
                self.known[place].until = None;
            }
        }
        self.restarts.extend(new.iter().cloned());
        new
    }

    /// Returns whether all have ended, and none is expected.
    pub fn are_over(&self) -> bool {
        if self.alive().next().is_some() {
            return false;
        }
        match &self.group {
            Some(group) => !group.exists() || self.empty.is_some_and(|since| since.elapsed() >= RESTART_BY_MANAGER),
            None => self.known.iter().all(|known| known.until.is_none()),
        }
    }

    /// Returns how many threads the processes have.
    pub fn threads(&self) -> u32 {
        self.alive().map(|(_, target)| sampling::threads(target.pid).count() as u32).sum()
    }
}
