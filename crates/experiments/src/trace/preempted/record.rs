//! The record: a row for the whole program, one for each lock at each call site, and one for each remedy.

use super::super::record::Runner;
use super::slice_extension::SliceExtension;
use blame::Lost;
use instruments::statistics::Interval;
use record::RecordRef;
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type PreemptedRecord<'a> = RecordRef<'a, Parameters, Row>;

/// The parameters that the program and the kernel decide.
pub const OUTCOMES: &[&str] = &[
    "attached_pid",
    "exit_status",
    "exit_signal",
    "elapsed_s",
    "threads",
    "waited_s",
    "switches",
    "switches_share",
    "switches_left_out",
    "holds_known_share",
    "sees_competitors",
    "lost",
];

/// The program, and the parts of its run that are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The SHA-256 of the program's file; `null` where it cannot be read, or has more than 128 MiB.
    pub program_sha256: Option<String>,
    /// The number of the process that contend attached to.
    pub attached_pid: Option<u32>,
    pub exit_status: Option<i32>,
    pub exit_signal: Option<i32>,
    pub elapsed_s: f64,
    /// Threads that used a lock.
    pub threads: u32,
    /// Time that all threads waited for locks.
    pub waited_s: f64,
    /// Source of the context switches; `null` if the kernel refused them, and then no preemption is known.
    pub switches: Option<String>,
    /// The part of the time in which they were recorded.
    pub switches_share: Option<f64>,
    /// Threads whose switches were never recorded.
    pub switches_left_out: u32,
    /// The part of the holds that were long enough for a preemption, and whose threads' switches are known.
    pub holds_known_share: Option<f64>,
    /// Whether threads of other programs are seen, which needs root or CAP_PERFMON.
    pub sees_competitors: bool,
    /// The kernel's slice extension for restartable sequences.
    pub slice_extension: SliceExtension,
    /// Runs with each remedy.
    pub rounds: u32,
    pub lost: Lost,
}

/// The subject of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// All locks of the program.
    #[default]
    Total,
    /// A lock that was acquired at one call site.
    Preempted,
    /// Runs with a remedy.
    Remedy,
}

/// One row. A value that does not apply or is not known is 0, `null` or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub kind: RowKind,
    /// The lock's name, and the call site where the holder acquired it.
    pub lock: String,
    pub site: String,
    /// Number of times that a holder was preempted, in the part of the time for which switches are known.
    pub times: u64,
    pub times_per_s: Option<f64>,
    /// Time in which the lock was held by a preempted thread.
    pub kept_s: f64,
    /// Time that others waited for such holders, and its share of all waiting.
    pub waited_s: f64,
    pub waited_share: Option<f64>,
    /// Median of the whole holds that were timed.
    pub hold_p50_ns: Option<f64>,
    /// Median of the CPU time that a hold still needed after a preemption.
    pub left_p50_ns: Option<f64>,
    /// Threads that ran next instead of the holder, by their share of the time kept.
    pub by: Vec<Runner>,
    /// The share of the preemptions after which the hold needed at most 5 and at most 50 µs of CPU time.
    pub covered_by_5us: Option<f64>,
    pub covered_by_50us: Option<f64>,
    /// The remedy, and the reason why it was not measured, or the command that does.
    pub remedy: Option<String>,
    pub not_measured: Option<String>,
    /// The intervals over the runs, from the smallest to the largest value: 97 % for six runs.
    pub times_per_s_ci: Option<Interval>,
    pub waited_share_ci: Option<Interval>,
    /// Run time, median and interval.
    pub run_s: Option<f64>,
    pub run_ci_s: Option<Interval>,
}
