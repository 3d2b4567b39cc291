//! The values chosen in the menus and the resulting command lines; the CPUs of this machine that can be chosen.

use experiments::ALL;
use harness::Entry;
use instruments::cpus::{self, CpuSet};
use std::io;
use std::path::PathBuf;

/// The CPUs of this machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The CPUs that are online.
    pub online: CpuSet,
    /// Those in the affinity mask of this process.
    pub allowed: CpuSet,
    /// The CPU of the interface; it is measured only if there is no other.
    pub own: usize,
}

impl Machine {
    /// Reads the affinity mask, and pins this process to its first CPU.
    pub fn detect() -> io::Result<Self> {
        let allowed = cpus::allowed()?;
        let own = allowed.first().ok_or_else(|| io::Error::other("the affinity mask of this process is empty"))?;
        cpus::pin_current_thread(own)?;
        Ok(Self { online: cpus::online().unwrap_or_else(|_| allowed.clone()), allowed, own })
    }

    /// Returns the reason why a CPU cannot be measured from here.
    pub fn refusal(&self, cpu: usize) -> Option<String> {
        if !self.allowed.contains(cpu) {
            return Some("the cpuset or affinity mask (`taskset`) of this process excludes this CPU".into());
        }
        (cpu == self.own && self.allowed.len() > 1).then(|| {
            "the interface runs on this CPU and would distort the results; use the command line to measure it".into()
        })
    }

    /// Returns the CPUs that can be measured from here.
    pub fn free(&self) -> CpuSet {
        self.allowed.iter().filter(|cpu| self.refusal(*cpu).is_none()).collect()
    }

    /// Returns whether this command measures, and so reports while it runs.
    pub fn measures(words: &[String]) -> bool {
        let Some(first) = words.first() else { return true };
        first == "survey" || ALL.iter().any(|entry| entry.words().0 == first)
    }
}

/// The time budget of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The default of each experiment.
    Own,
    Seconds(u32),
    UntilStopped,
}

/// The times in the menu.
pub const TIMES: [Time; 9] = [
    Time::Own,
    Time::Seconds(2),
    Time::Seconds(5),
    Time::Seconds(10),
    Time::Seconds(30),
    Time::Seconds(60),
    Time::Seconds(600),
    Time::Seconds(3_600),
    Time::UntilStopped,
];

/// The numbers of threads in the menu.
pub const THREADS: [u16; 6] = [1, 2, 4, 8, 16, 32];

/// The values chosen by the user.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The locks in the order of the registry; empty for the default of each experiment.
    pub locks: Vec<&'static str>,
    pub threads: Vec<u16>,
    pub cpus: CpuSet,
    pub time: Time,
    /// The archive, if not the default one.
    pub archive: Option<PathBuf>,
}

impl Choice {
    pub fn new(machine: &Machine, archive: Option<PathBuf>) -> Self {
        Self { locks: Vec::new(), threads: Vec::new(), cpus: machine.free(), time: Time::Seconds(10), archive }
    }

    /// Adds a lock, or removes it.
    pub fn toggle_lock(&mut self, name: &'static str) {
        let mut chosen = std::mem::take(&mut self.locks);
        toggle(&mut chosen, name);
        let in_order = locks::ENTRIES.iter().map(|entry| entry.name);
        self.locks = in_order.filter(|name| chosen.contains(name)).collect();
    }

    pub fn toggle_threads(&mut self, number: u16) {
        toggle(&mut self.threads, number);
        self.threads.sort_unstable();
    }

    /// Adds a CPU, or removes it unless it is the only one.
    pub fn toggle_cpu(&mut self, cpu: usize) {
        let mut chosen: Vec<usize> = self.cpus.iter().collect();
        toggle(&mut chosen, cpu);
        if !chosen.is_empty() {
            self.cpus = chosen.into_iter().collect();
        }
    }

    /// Returns the command line of an experiment.
    pub fn command(&self, entry: &Entry) -> Vec<String> {
        let mut words: Vec<String> = entry.name.split(' ').map(str::to_owned).collect();
        if has(entry, "lock") {
            words.extend(flag("--lock", &self.locks));
            let threads = if has(entry, "children") { "--children" } else { "--threads" };
            words.extend(flag(threads, &self.threads));
        }
        words.extend(self.shared(|name| entry.takes(name)));
        words
    }

    /// Returns the command line of the survey.
    pub fn survey(&self) -> Vec<String> {
        let shared = self.shared(|name| name != "until_signal");
        std::iter::once("survey".to_owned()).chain(shared).collect()
    }

    /// Returns the flags that have the same meaning for all experiments.
    pub fn shared(&self, takes: impl Fn(&str) -> bool) -> Vec<String> {
        let mut words = Vec::new();
        match self.time {
            Time::Seconds(seconds) if takes("seconds") => words.extend(["--seconds".to_owned(), seconds.to_string()]),
            Time::UntilStopped if takes("until_signal") => words.push("--until-signal".to_owned()),
            _ => {}
        }
        if takes("cpus") {
            words.extend(["--cpus".to_owned(), self.cpus.to_string()]);
        }
        words.extend(self.archived());
        words
    }

    /// Returns the flag for the archive, for any command.
    pub fn archived(&self) -> Vec<String> {
        let folder = self.archive.iter().map(|folder| folder.display().to_string());
        folder.flat_map(|folder| ["--archive".to_owned(), folder]).collect()
    }
}

impl Time {
    pub fn words(self) -> String {
        match self {
            Self::Own => "default time of each experiment".to_owned(),
            Self::Seconds(seconds) if seconds < 60 => format!("{seconds} s"),
            Self::Seconds(60) => "1 minute".to_owned(),
            Self::Seconds(3_600) => "1 hour".to_owned(),
            Self::Seconds(seconds) => format!("{} minutes", seconds / 60),
            Self::UntilStopped => "until stopped".to_owned(),
        }
    }
}

/// Returns whether an experiment has this flag.
pub fn has(entry: &Entry, flag: &str) -> bool {
    entry.command().get_arguments().any(|argument| argument.get_id() == flag)
}

/// Returns a flag with several values; empty without values.
pub fn flag<T: ToString>(name: &str, values: &[T]) -> Vec<String> {
    if values.is_empty() {
        return Vec::new();
    }
    vec![name.to_owned(), values.iter().map(T::to_string).collect::<Vec<String>>().join(",")]
}

pub fn toggle<T: PartialEq>(chosen: &mut Vec<T>, one: T) {
    match chosen.iter().position(|other| *other == one) {
        Some(place) => _ = chosen.remove(place),
        None => chosen.push(one),
    }
}
