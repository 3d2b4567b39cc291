//! The evidence: all that the diagnosis of a part of a trace is made from, as plain data. The sources fill it, and judge nothing;
//! the diagnosis reads it, and asks nothing else, so that the same evidence gives the same answer, here and elsewhere.

mod gather;
mod goroutines;
mod paths;

pub use gather::{Sources, Span};
pub use goroutines::{GoPath, GoProcess, GoWaits};
pub use paths::Paths;

use super::record::Row;
use super::sharing::record::Row as LineRow;
use anyhow::ensure;
use blame::frames::Frames;
use blame::jvm::JavaWaits;
use blame::pairs;
use blame::purpose::Purpose;
use blame::sampling::samples::Samples;
use blame::sampling::waited::Path;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The evidence of a part of a trace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// The program and its arguments.
    pub program: Vec<String>,
    pub cpus: usize,
    pub elapsed_s: f64,
    /// Processes that were seen.
    pub processes: u32,
    /// Children of these processes that used a CPU, and were not watched.
    #[serde(default)]
    pub unwatched: Vec<u32>,
    /// The CPU time of all programs but contend in that time, if the kernel's account is known.
    pub busy_cpus_s: Option<f64>,
    /// The time that threads lived, known without samples; with the library, those that used locks.
    pub thread_time_s: f64,
    /// The number of those threads.
    pub threads: u32,
    /// The rows of locks as they were counted. They begin with those of the locks in `slots`.
    pub rows: Vec<Row>,
    pub slots: Vec<Vec<u32>>,
    /// Whether each futex call was recorded, so that the rows have the words that samples show.
    pub has_calls: bool,
    pub samples: Samples,
    /// The call paths in the samples, with names.
    pub paths: Paths,
    /// Futex words, by process and address.
    #[serde(with = "pairs")]
    pub words: BTreeMap<(u32, u64), Word>,
    /// The notes of the library, if it was loaded.
    pub library: Option<Library>,
    /// The waits of the Java virtual machines among the processes.
    pub java: BTreeMap<u32, JavaWaits>,
    /// The goroutines of the Go programs among the processes.
    pub goroutines: Vec<GoProcess>,
    /// The cache lines that threads on a CPU used.
    pub lines: Vec<LineRow>,
    /// Why threads hang, if they do, and the rows of those.
    pub hang: Option<hang::Explanation>,
    pub stuck: Vec<Row>,
    /// Files without symbols for their functions, by name, with their build IDs.
    pub stripped: BTreeMap<String, Option<String>>,
}

/// A futex word.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Word {
    /// The global variable that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Its purpose by its use, if futex calls were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    /// The lock of parking_lot for which a thread waits that blocks in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<u64>,
    /// Whether it is in contend's memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_own: bool,
}

/// The notes of the library, as far as the samples and the conditions need them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Library {
    /// Locks, by their slots.
    pub locks: BTreeMap<u32, NotedLock>,
    /// Pairs of a lock and a call site, by their places.
    pub pairs: BTreeMap<u32, NotedPair>,
    /// The labels of requests, by their places.
    pub labels: BTreeMap<u32, String>,
}

/// A lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotedLock {
    pub name: String,
    /// The number of its kind (`interpose::Kind`).
    pub kind: u32,
    /// Whether it stands for several locks.
    pub is_folded: bool,
}

/// A lock at a call site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotedPair {
    pub lock: u32,
    pub kind: u32,
    pub site: String,
    pub acquisitions: u64,
    /// Where a condition is signalled, the signals; where one is waited for, the wakes for nothing.
    pub signals: u64,
}

impl Evidence {
    /// Checks what the diagnosis takes for granted of evidence that comes from a file.
    ///
    /// # Errors
    /// Its parts do not fit together.
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!(self.elapsed_s > 0.0 && self.cpus > 0, "it is of no time, or of no CPU");
        ensure!(self.slots.len() <= self.rows.len(), "it has fewer rows than locks");
        ensure!(self.slots.iter().all(|slots| !slots.is_empty()), "a lock has no place");
        Ok(())
    }

    /// Returns a call path with names; empty if it has none.
    pub fn frames(&self, path: Path) -> Frames {
        self.paths.frames(path)
    }

    /// Returns the global variable that a word is in.
    pub fn variable(&self, process: u32, address: u64) -> Option<&str> {
        self.words.get(&(process, address))?.variable.as_deref()
    }

    /// Returns the name of a lock that the library noted.
    pub fn lock_name(&self, slot: u32) -> Option<&str> {
        Some(&self.library.as_ref()?.locks.get(&slot)?.name)
    }

    /// Returns the call site of a pair that the library noted.
    pub fn site_label(&self, pair: u32) -> Option<&str> {
        Some(&self.library.as_ref()?.pairs.get(&pair)?.site)
    }
}
