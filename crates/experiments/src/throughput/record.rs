//! The rows of the record: one for each configuration.

use super::conditions::{Conditions, Variations};
use super::plan::{CellPlan, Parameters};
use super::ulockflex_2002;
use instruments::statistics::Interval;
use instruments::statistics::levels::Levels;
use instruments::statistics::stopping::EndedBy;
use record::{Estimates, RecordRef};
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type ThroughputRecord<'a> = RecordRef<'a, Parameters, Row>;

/// One cell. What a lock does not count, and what was not measured, is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub lock: String,
    pub children: usize,
    /// Whether the children were processes.
    pub processes: bool,
    /// Locks that the children were dealt to.
    pub locks: usize,
    pub nonhold_us: f64,
    pub hold_us: f64,
    /// Per cent of acquisitions that read.
    pub share: u32,
    /// Hold times of every second child, in multiples of `hold_us`.
    #[serde(default = "one")]
    pub hold_ratio: u32,
    /// The exponent of Zipf's law by which each iteration drew its lock; `null` where each child had one lock.
    #[serde(default)]
    pub zipf_exponent: Option<f64>,
    /// Cache lines of shared data that each critical section read and wrote.
    #[serde(default)]
    pub touched_lines: usize,
    /// Whether the number of active children rose and fell within each run: `steps`.
    #[serde(default)]
    pub ramp: bool,
    /// For how long a holder was stopped, once in each run; 0: not at all.
    #[serde(default)]
    pub stop_us: f64,
    /// How long a waiter spun first; 0 for a lock that takes no patience.
    pub patience_us: f64,
    /// Length of a run.
    pub run_s: f64,
    /// Runs that count for the throughput.
    pub iterations: usize,
    /// Whether the interval of the throughput is as narrow as requested.
    pub converged: bool,
    pub ended_by: EndedBy,
    /// Exclusive acquisitions that found the lock taken, of all exclusive ones.
    pub write_contended_share: Option<f64>,
    /// Shared acquisitions that found the lock taken, of all shared ones.
    pub read_contended_share: Option<f64>,
    /// 2002's R: for a lock that hands over, the per cent of contended acquisitions that spinning resolved; for one
    /// that does not (calock), how often a contended acquisition slept.
    pub retry: Option<f64>,
    /// Coefficient of variation of the children's loops in a run: the median of the runs; 0 is fair. It falls with the
    /// length of the run.
    pub cov: f64,
    /// Its 95 % interval, by the runs; `null` with few runs, and in older records.
    #[serde(default)]
    pub cov_ci: Option<Interval>,
    /// Coefficient of variation of the time for which each child held a lock, in runs with timestamps: the median of the
    /// runs; 0 is fair. `null` without such runs, and in older records.
    #[serde(default)]
    pub held_cov: Option<f64>,
    /// The part of all held time that the child with the least of it had, and the one with the most: medians of the runs
    /// with timestamps.
    #[serde(default)]
    pub held_least_share: Option<f64>,
    #[serde(default)]
    pub held_most_share: Option<f64>,
    /// The part of all held time that the children with the longer hold times had; `null` if all are equal.
    #[serde(default)]
    pub held_long_share: Option<f64>,
    #[serde(default)]
    pub held_long_share_ci: Option<Interval>,
    /// Loops by number of active children, where it rises and falls.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The time from the end of a holder's stop until the throughput was at 0.9 of what it was before the stop, or more,
    /// over a window: the median of the runs that recovered.
    #[serde(default)]
    pub recovery_us: Option<f64>,
    #[serde(default)]
    pub recovery_ci: Option<Interval>,
    /// The window over which the throughput was measured; a shorter recovery is 0.
    #[serde(default)]
    pub recovery_window_us: Option<f64>,
    /// The part of the runs that did not recover before their end.
    #[serde(default)]
    pub recovery_failed_share: Option<f64>,
    /// The throughput after the stop, window by window, in multiples of that before: medians of the runs.
    #[serde(default)]
    pub recovery_curve: Vec<f64>,
    /// Loops of all children together: the median of the runs.
    pub throughput_per_s: f64,
    pub throughput_ci: Option<Interval>,
    /// The two levels of the runs' loops a second, where runs are on the one or the other; then the intervals of the
    /// throughput span both. `null` where they have one level, and in older records.
    #[serde(default)]
    pub levels_per_s: Option<Levels>,
    /// The share of windows of a millisecond or two in which an SMT sibling was active on one of the cores, among those
    /// that were clearly exclusive or shared; `null` without probes, or where children shared cores.
    #[serde(default)]
    pub core_shared_share: Option<f64>,
    /// How far a window's throughput tells by itself who was there: rank correlation, from -1 to 1.
    #[serde(default)]
    pub core_correlation: Option<f64>,
    /// The throughput in windows in which all children had their cores exclusively, and in those in which an SMT sibling
    /// shared one: medians of the runs' medians.
    #[serde(default)]
    pub throughput_per_s_alone: Option<f64>,
    #[serde(default)]
    pub throughput_per_s_alone_ci: Option<Interval>,
    #[serde(default)]
    pub throughput_per_s_shared: Option<f64>,
    #[serde(default)]
    pub throughput_per_s_shared_ci: Option<Interval>,
    /// The median of how long the lock was held, in runs with timestamps; their cost is taken off.
    pub hold_seen_us: Option<f64>,
    /// The most that this work allows: min(locks / hold, min(children, CPUs) / (hold + non-hold)), for the hold time
    /// that was seen; `null` for no work, and with `hold_ratio`, `zipf_exponent`, `touched_lines`, `ramp` or `stop_us`.
    pub ideal_per_s: Option<f64>,
    pub ideal_share: Option<f64>,
    /// Waits for the lock, from separate runs with timestamps; their cost is subtracted.
    pub waits_count: u64,
    pub wait_p50_ns: Option<f64>,
    pub wait_p99_ns: Option<f64>,
    pub wait_max_ns: Option<f64>,
    /// The longest row of acquisitions by one child.
    #[serde(rename = "longest_run")]
    pub longest_streak: Option<u64>,
    /// Futex and semaphore calls that the lock knows of, for each loop.
    pub syscalls_per_op: Option<f64>,
    pub voluntary_switches_per_op: f64,
    pub involuntary_switches_per_op: f64,
    /// Critical sections that counted under the lock, in all runs or in those with timestamps, and counts that were lost:
    /// a lock that loses one does not exclude. `null` without a lock, and in older records.
    #[serde(default)]
    pub counted_total: Option<u64>,
    #[serde(default)]
    pub lost_counts_total: Option<u64>,
    /// Whether all runs counted, as with a user-supplied lock among the locks: each critical section is longer by that.
    #[serde(default)]
    pub counts_in_all_runs: bool,
    /// CPU time of all children, in CPUs.
    pub cpus_used: f64,
    /// 2002's figures for the same cell, on two Pentium III at 550 MHz.
    pub then: Option<ulockflex_2002::Figures>,
}

/// A step of a run whose number of children changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// Children that are active.
    pub children: usize,
    /// Loops of all of them: the median of the runs.
    pub throughput_per_s: f64,
    pub throughput_ci: Option<Interval>,
}

fn one() -> u32 {
    1
}

impl Row {
    pub fn variations(&self) -> Variations {
        let Self { hold_ratio, zipf_exponent: zipf, touched_lines, ramp, stop_us, .. } = *self;
        Variations { hold_ratio, zipf, touched_lines, ramp, stop_us }
    }

    pub fn conditions(&self) -> Conditions {
        let Self { children, processes, locks, nonhold_us, hold_us, share, .. } = *self;
        Conditions { children, processes, locks, nonhold_us, hold_us, share, variations: self.variations() }
    }

    /// Returns the iterations/s of all children.
    pub fn throughput(&self) -> Estimates {
        Estimates::new(
            (Some(self.throughput_per_s), self.throughput_ci),
            (self.throughput_per_s_alone, self.throughput_per_s_alone_ci),
            (self.throughput_per_s_shared, self.throughput_per_s_shared_ci),
        )
    }

    /// Returns the contest of the row: locks under the same conditions are ranked.
    pub fn contest(&self) -> String {
        self.conditions().to_string()
    }

    /// Returns the name of the configuration.
    pub fn name(&self) -> String {
        format!("{}, {}", self.lock, self.conditions())
    }
}

/// Returns the most loops a second that the work itself allows.
pub fn ideal_per_s(cell: &CellPlan, cpus: usize) -> Option<f64> {
    let loop_ns = cell.hold_ns + cell.nonhold_ns;
    // What the variations allow depends on which child gets the lock, and on the memory.
    if loop_ns == 0.0 || !cell.variations.is_none() {
        return None;
    }
    let by_cpus = cell.children.min(cpus) as f64 * 1e9 / loop_ns;
    // Readers share the lock, so its hold time limits only writers; without a lock nothing is limited.
    let held_ns = cell.hold_ns * f64::from(100 - cell.share) / 100.0;
    let limited = held_ns > 0.0 && cell.lock != locks::NONE;
    let by_locks = if limited { cell.locks as f64 * 1e9 / held_ns } else { f64::INFINITY };
    Some(by_cpus.min(by_locks))
}

/// Rows by hand, for the tests of the views.
#[cfg(test)]
pub mod sample {
    use super::*;
    use serde_json::json;

    /// Returns a configuration of threads and one lock, by its times in µs.
    pub fn cell(lock: &str, children: usize, nonhold_us: f64, hold_us: f64) -> CellPlan {
        CellPlan {
            lock: lock.to_owned(),
            children,
            processes: false,
            locks: 1,
            nonhold_ns: nonhold_us * 1e3,
            hold_ns: hold_us * 1e3,
            share: 0,
            variations: Variations::default(),
        }
    }

    /// Returns a row with 3 µs with the lock and 7 µs without it; the interval is 1 % to either side.
    pub fn row(lock: &str, children: usize, throughput_per_s: f64) -> Row {
        serde_json::from_value(json!({
            "lock": lock, "children": children, "processes": false, "locks": 1, "nonhold_us": 7.0, "hold_us": 3.0,
            "share": 0, "patience_us": 0.0, "run_s": 0.1, "iterations": 6, "converged": true, "ended_by": "converged",
            "write_contended_share": 0.5, "read_contended_share": null, "retry": null, "cov": 0.1,
            "throughput_per_s": throughput_per_s, "throughput_ci": [throughput_per_s * 0.99, throughput_per_s * 1.01],
            "hold_seen_us": 3.0, "ideal_per_s": 2e5, "ideal_share": 0.9, "waits_count": 10, "wait_p50_ns": null,
            "wait_p99_ns": null, "wait_max_ns": null, "longest_run": null, "syscalls_per_op": null,
            "voluntary_switches_per_op": 0.1, "involuntary_switches_per_op": 0.0, "cpus_used": 2.0, "then": null
        }))
        .expect("the sample is as the experiment writes it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ideal_is_limited_by_the_lock_or_by_the_cpus() {
        assert_eq!(ideal_per_s(&sample::cell("std", 2, 0.0, 10.0), 2), Some(100_000.0));
        assert_eq!(ideal_per_s(&sample::cell("std", 1, 7.0, 3.0), 2), Some(100_000.0));
        assert_eq!(ideal_per_s(&sample::cell("std", 100, 7.0, 3.0), 2), Some(200_000.0));
        assert_eq!(ideal_per_s(&sample::cell("none", 2, 0.0, 10.0), 2), Some(200_000.0));
        assert_eq!(ideal_per_s(&sample::cell("std", 2, 0.0, 0.0), 2), None);
    }
}
