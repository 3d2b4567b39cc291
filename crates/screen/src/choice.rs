//! What is chosen in the menus, and the command lines that come of it.

use crate::machine::Machine;
use harness::Entry;
use instruments::cpus::CpuSet;
use std::path::PathBuf;

/// How long is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// As long as the experiment does by itself.
    Own,
    Seconds(u32),
    UntilStopped,
}

/// The times that the menu has.
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

/// The numbers of threads that the menu has.
pub const THREADS: [u16; 6] = [1, 2, 4, 8, 16, 32];

/// What is chosen.
#[derive(Clone, Debug)]
pub struct Choice {
    /// In the order of the registry; none is what each experiment has by itself.
    pub locks: Vec<&'static str>,
    pub threads: Vec<u16>,
    pub cpus: CpuSet,
    pub time: Time,
    /// Where records are kept, if not where they usually are.
    pub archive: Option<PathBuf>,
}

impl Choice {
    pub fn new(machine: &Machine, archive: Option<PathBuf>) -> Self {
        Self { locks: Vec::new(), threads: Vec::new(), cpus: machine.free(), time: Time::Seconds(10), archive }
    }

    /// Takes a lock, or leaves it out.
    pub fn turn_lock(&mut self, name: &'static str) {
        let mut chosen = std::mem::take(&mut self.locks);
        turn(&mut chosen, name);
        let in_order = locks::ENTRIES.iter().map(|entry| entry.name);
        self.locks = in_order.filter(|name| chosen.contains(name)).collect();
    }

    pub fn turn_threads(&mut self, number: u16) {
        turn(&mut self.threads, number);
        self.threads.sort_unstable();
    }

    /// One CPU at least stays.
    pub fn turn_cpu(&mut self, cpu: usize) {
        let mut chosen: Vec<usize> = self.cpus.iter().collect();
        turn(&mut chosen, cpu);
        if !chosen.is_empty() {
            self.cpus = chosen.into_iter().collect();
        }
    }

    /// The command line of an experiment.
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

    /// The command line of the survey.
    pub fn survey(&self) -> Vec<String> {
        let shared = self.shared(|name| name != "until_signal");
        std::iter::once("survey".to_owned()).chain(shared).collect()
    }

    /// The flags that mean the same everywhere.
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

    /// Where records are kept, for any command.
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

/// Whether an experiment has this flag of its own.
pub fn has(entry: &Entry, flag: &str) -> bool {
    entry.command().get_arguments().any(|argument| argument.get_id() == flag)
}

/// A flag with several values; nothing where there are none.
pub fn flag<T: ToString>(name: &str, values: &[T]) -> Vec<String> {
    if values.is_empty() {
        return Vec::new();
    }
    vec![name.to_owned(), values.iter().map(T::to_string).collect::<Vec<String>>().join(",")]
}

fn turn<T: PartialEq>(chosen: &mut Vec<T>, one: T) {
    match chosen.iter().position(|other| *other == one) {
        Some(place) => _ = chosen.remove(place),
        None => chosen.push(one),
    }
}
