//! Events that do not fit into the memory that the library records into.

use instruments::warning::{Severity, Warning, WarningKind};
use interpose::Region;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering::Relaxed;

/// Counts of the events that found no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    pub processes: u64,
    pub threads: u64,
    /// Uses of locks that were not counted, since there were too many locks, or too many call sites of them.
    pub uses_of_locks: u64,
    pub uses_of_sites: u64,
    /// Locks taken by a thread that held too many to note one more.
    pub holds: u64,
    /// Waits that are counted, but whose holder was not read in time.
    pub waits: u64,
    pub orders: u64,
    /// Calls of signal handlers that came while something was noted.
    pub reentered: u64,
    pub switches: u64,
    /// Samples of waits for more locks and futex words than are kept apart.
    #[serde(default)]
    pub samples: u64,
}

impl Lost {
    /// Reads the numbers of events that the library could not store.
    pub fn of(region: &Region) -> Self {
        let header = &region.header;
        Self {
            processes: header.lost_processes.load(Relaxed),
            threads: header.lost_threads.load(Relaxed),
            uses_of_locks: header.lost_locks.load(Relaxed),
            uses_of_sites: header.lost_pairs.load(Relaxed),
            holds: header.lost_holds.load(Relaxed),
            waits: region.threads().fold(0, |sum, thread| sum.saturating_add(thread.lost.load(Relaxed))),
            orders: header.lost_edges.load(Relaxed),
            reentered: header.lost_reentered.load(Relaxed),
            switches: 0,
            samples: 0,
        }
    }

    /// Returns the losses since these.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            processes: self.processes.saturating_sub(before.processes),
            threads: self.threads.saturating_sub(before.threads),
            uses_of_locks: self.uses_of_locks.saturating_sub(before.uses_of_locks),
            uses_of_sites: self.uses_of_sites.saturating_sub(before.uses_of_sites),
            holds: self.holds.saturating_sub(before.holds),
            waits: self.waits.saturating_sub(before.waits),
            orders: self.orders.saturating_sub(before.orders),
            reentered: self.reentered.saturating_sub(before.reentered),
            switches: self.switches.saturating_sub(before.switches),
            samples: self.samples.saturating_sub(before.samples),
        }
    }

    /// Returns the losses of the run that lost more.
    pub fn or(self, other: Self) -> Self {
        if self.total() < other.total() { other } else { self }
    }

    /// Returns a warning, if anything was lost.
    pub fn warning(&self) -> Option<Warning> {
        let are_counts_complete = self.total() == self.waits.saturating_add(self.switches).saturating_add(self.samples);
        (self.total() > 0).then(|| TraceLost { what: self.words(), are_counts_complete }.into())
    }

    /// Returns each loss with its name in a warning.
    fn named(&self) -> [(u64, &'static str); 10] {
        [
            (self.processes, "processes"),
            (self.threads, "calls of threads without a slot"),
            (self.uses_of_locks, "lock uses (too many locks)"),
            (self.uses_of_sites, "lock uses (too many call sites)"),
            (self.holds, "acquisitions (too many locks held at once)"),
            (self.waits, "records of single waits and holds"),
            (self.orders, "lock orders"),
            (self.reentered, "calls from signal handlers"),
            (self.switches, "context switches"),
            (self.samples, "samples of waits (too many locks)"),
        ]
    }

    fn words(&self) -> String {
        let named = self.named().into_iter().filter(|(count, _)| *count > 0);
        named.map(|(count, what)| format!("{} {what}", terminal::count(count))).collect::<Vec<String>>().join(", ")
    }

    /// Returns the total of all losses.
    pub fn total(&self) -> u64 {
        self.named().into_iter().fold(0, |sum, (count, _)| sum.saturating_add(count))
    }
}

/// Events did not fit into the memory, and are not in the values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceLost {
    /// The lost events, and their number.
    pub what: String,
    /// Whether they are in the counts and sums all the same.
    pub are_counts_complete: bool,
}

impl WarningKind for TraceLost {
    const CODE: &'static str = "trace_lost";

    fn message(&self) -> String {
        let counted = if self.are_counts_complete { "; counts and sums of waits are complete" } else { "" };
        format!("events were lost because contend's buffers were full: {}{counted}", self.what)
    }

    fn remedy(&self) -> &'static str {
        match self.are_counts_complete {
            true => "leave a CPU free for contend, or trace for less time, to learn the holders of these waits",
            false => "leave a CPU free for contend, or trace for less time: counts and sums are too low",
        }
    }

    /// The findings state which part of a wait is unknown.
    fn severity(&self) -> Severity {
        if self.are_counts_complete { Severity::Advice } else { Severity::LimitsConclusion }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_that_leave_the_counts_complete_are_advice() {
        let severity = |lost: Lost| lost.warning().unwrap().severity();
        assert_eq!(Lost::default().warning(), None);
        assert_eq!(severity(Lost { waits: 9, switches: 3, ..Lost::default() }), Severity::Advice);
        assert_eq!(severity(Lost { waits: 9, threads: 1, ..Lost::default() }), Severity::LimitsConclusion);
    }
}
