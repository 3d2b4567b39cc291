//! The record: a row for each CPU and interval, and its values that are compared with other records.

use crate::noise::record::CauseRow;
use crate::noise::timer::Timer;
use harness::StoryPart;
use instruments::evidence::{Cause, EvidenceQuality, Source};
use instruments::statistics::Interval;
use record::{Bin, Cell, Metric, VariationSource};
use serde::{Deserialize, Serialize};

/// How late one CPU's thread was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeRow {
    /// Always `wake`.
    pub scenario: String,
    /// Where the thread was when it woke: the one that it is pinned to, or, with a deadline, where the kernel put it.
    pub cpu: usize,
    pub interval_us: f64,
    /// `other`, `fifo:80` or `deadline`.
    pub policy: String,
    pub timer: Timer,
    /// How late the kernel may let a timer of such a thread be, by the thread's setting.
    pub slack_us: f64,
    /// Wake-ups.
    pub count: u64,
    /// Instants that had passed before the thread could sleep until them.
    pub skipped: u64,
    /// Time in which it slept and woke.
    pub span_s: f64,
    pub late_min_us: f64,
    pub late_p50_us: f64,
    pub late_p50_ci_us: Option<Interval>,
    pub late_p99_us: f64,
    pub late_p999_us: f64,
    pub late_max_us: f64,
    /// Clusters of the latenesses, the largest first.
    pub spikes: Vec<WakeSpike>,
    /// The share of the wake-ups that belong to no spike.
    pub leftover_share: f64,
    /// 16 bins per octave; empty bins are omitted.
    pub histogram: Vec<Bin>,
    /// What the time between instant and wake-up went to, the most first; the shares add up to 1.
    pub causes: Vec<CauseRow>,
    /// The share of it that has evidence from the kernel; `null` where there is none.
    pub explained_share: Option<f64>,
    /// The latest wake-ups, the latest first, with the threads that ran in the meantime.
    pub latest: Vec<LateWake>,
    /// The wake-up that `--stop-above` ended it at.
    pub stopped: Option<LateWake>,
    pub evidence: Source,
    /// What the evidence may lack.
    pub ledger: Option<EvidenceQuality>,
    /// The role of this CPU, if several CPUs were measured.
    pub role: Option<String>,
}

/// A cluster of latenesses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeSpike {
    /// `A` has the largest share.
    pub label: String,
    /// The share of all wake-ups.
    pub share: f64,
    pub count: u64,
    pub median_us: f64,
    pub from_us: f64,
    pub to_us: f64,
    /// The spike that this one repeats after a constant delay.
    pub echo_of: Option<String>,
    pub delay_us: Option<f64>,
    /// What took most of the time of its wake-ups; `null` without evidence.
    pub cause: Option<Cause>,
    /// Its share of that time.
    pub cause_share: Option<f64>,
}

/// One late wake-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateWake {
    /// When it was due, since the run began.
    pub start_s: f64,
    pub late_us: f64,
    #[serde(flatten)]
    pub cause: Cause,
    /// The time of the main cause.
    pub cause_us: f64,
    /// Who had the CPU from a little before the instant until the thread ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<StoryPart>,
}

pub fn metrics(row: &WakeRow) -> Vec<Metric> {
    let every = format!("every {}", terminal::nanoseconds(row.interval_us * 1e3));
    let cell = Cell::of(["wake-ups".to_owned(), every, row.policy.clone()]).with("cpu", format!("CPU {}", row.cpu));
    let median =
        Metric::time(&cell, "late p50", row.late_p50_us * 1e3, row.late_p50_ci_us.map(|ends| ends.scaled(1e3)));
    let tail = Metric::time(&cell, "late p99", row.late_p99_us * 1e3, None);
    [median, tail].map(|metric| Metric { variation: VariationSource::Others, ..metric }).into()
}
