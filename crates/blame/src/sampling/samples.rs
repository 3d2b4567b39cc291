//! The sums of the samples of a part of a trace, as plain data, which the diagnosis reads.

use super::life::{Allowed, Life};
use super::modes::Modes;
use super::priority::Priority;
use super::waited::{Path, Wait, Waited};
use crate::pairs;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// The sums of the samples.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Samples {
    /// How many times the threads were looked at.
    pub count: u64,
    /// All threads that were seen.
    pub lives: Vec<Life>,
    /// The waits for each lock and word.
    #[serde(with = "pairs")]
    pub waited: BTreeMap<Wait, Waited>,
    /// Waits of labelled requests for words, by the place of the label, in seconds.
    #[serde(with = "pairs")]
    pub labelled: BTreeMap<(u32, Wait), f64>,
    /// The parts of the samples of threads on a CPU, by path: of those that spun for something that no call shows, of those
    /// that gave up their CPU to wait, and of all.
    pub spinning: BTreeMap<Path, f64>,
    pub yielding: BTreeMap<Path, f64>,
    pub running: BTreeMap<Path, f64>,
    /// The time that threads ran in functions of Python, in seconds.
    #[serde(default)]
    pub ran_python: BTreeMap<Path, f64>,
    #[serde(default)]
    pub modes: Modes,
    /// The CPUs that the control groups of the processes allow together, if all of them have a limit.
    pub cpu_limit: Option<f64>,
    /// Why the kernel refuses samples of threads on a CPU.
    pub refused_clock: Option<String>,
    /// The names of files whose locks were waited for, by the number in the wait, and those of the processes that had them.
    pub file_names: BTreeMap<u64, String>,
    pub owners: BTreeMap<u32, String>,
}

impl Samples {
    /// Returns whether no thread was seen for any time.
    pub fn is_empty(&self) -> bool {
        self.lives.iter().all(|life| life.seen_s <= life.began_s)
    }

    /// Returns the time, by the samples, that threads lived that the library knows.
    pub fn noted_s(&self) -> f64 {
        self.lives.iter().filter(|life| life.is_noted).map(|life| life.seen_s - life.began_s).sum()
    }

    /// Returns the part of the time, by the samples, that threads that had something to run had no CPU for it.
    pub fn ready_share(&self) -> f64 {
        let of = |part: usize| self.lives.iter().fold(0.0, |sum, life| sum + life.sum_s(part));
        let (ran, ready) = (of(0), of(1));
        if ran + ready > 0.0 { ready / (ran + ready) } else { 0.0 }
    }

    /// Returns the number of CPUs that the threads may use that had something to run for a twentieth of all such time or
    /// more; `None` if that is not known.
    pub fn allowed_cpus(&self) -> Option<usize> {
        let all: f64 = self.lives.iter().map(Life::runnable_s).sum();
        let is_busy = |life: &&Life| life.runnable_s() >= 0.05 * all && life.runnable_s() > 0.0;
        let busy = || self.lives.iter().filter(is_busy);
        if busy().any(|life| life.allowed == Allowed::default()) {
            return None;
        }
        let union = busy()
            .fold(Allowed::default(), |union, life| std::array::from_fn(|place| union[place] | life.allowed[place]));
        let count = union.iter().map(|bits| bits.count_ones() as usize).sum();
        (count > 0).then_some(count)
    }

    /// Returns the priority of a thread, as it was seen last.
    pub fn priority(&self, thread: u32) -> Option<Priority> {
        self.lives.iter().rev().find(|life| life.thread == thread)?.priority
    }

    /// Returns the name of a file whose lock was waited for, by the number in the wait.
    pub fn file_name(&self, file: u64) -> Option<&str> {
        self.file_names.get(&file).map(String::as_str)
    }

    /// Returns the name of a process that had the lock of a file.
    pub fn owner_name(&self, process: u32) -> Option<&str> {
        self.owners.get(&process).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Returns the call paths that are part of the sums.
    pub fn paths(&self) -> HashSet<Path> {
        let lives =
            self.lives.iter().flat_map(|life| life.path.into_iter().chain(life.places().map(|(_, path, _)| path)));
        let on_cpus = [&self.spinning, &self.yielding, &self.running, &self.ran_python];
        let on_cpus = on_cpus.into_iter().flat_map(BTreeMap::keys).copied();
        lives.chain(on_cpus).chain(self.waited.values().flat_map(Waited::all_paths)).collect()
    }

    /// Returns the objects that are waited for, or held, in the sums; some more than once.
    pub fn objects(&self) -> impl Iterator<Item = Wait> + '_ {
        let waits = self.lives.iter().flat_map(|life| life.waits.keys().copied());
        waits.chain(self.waited.keys().copied()).chain(self.waited.values().flat_map(Waited::objects))
    }
}
