//! The results: a row for each CPU.

use super::plan::Parameters;
use instruments::statistics::Interval;
use record::{Bin, RecordRef};
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type CoreRecord<'a> = RecordRef<'a, Parameters, Row>;

/// A CPU, and the interference on its core.
///
/// A value that was not observed is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub cpu: usize,
    /// The number of steps of about the same length, each between two probes.
    pub steps: u64,
    /// The share of shared steps among those that were exclusive or shared.
    pub shared_share: Option<f64>,
    /// The interval from the scatter between blocks of whole stretches; `null` where these are too few.
    #[serde(default)]
    pub shared_share_ci: Option<Interval>,
    /// The share of all steps that were undecided: their probes did not agree, or not clearly.
    pub neither_share: f64,
    /// The best time of the loop of width: in ticks of the clock and in cycles of the core, per iteration.
    pub best_ticks: Option<f64>,
    pub best_cycles: Option<f64>,
    /// The reason why that may not be the core alone.
    pub doubt: Option<String>,
    /// The median frequency by the loop of latency.
    pub frequency_ghz: Option<f64>,
    /// The factor by which code takes longer while the core is shared: limited by width, and limited by latency.
    pub cost_width: Option<f64>,
    pub cost_latency: Option<f64>,
    /// The factor for each kind of code.
    pub costs: Vec<Cost>,
    /// The lengths of uninterrupted stretches in which the core was shared.
    pub stretches: Stretches,
    /// The share of shared steps in each piece of the run, from its start.
    pub timeline: Vec<Piece>,
    /// The share by the hour of the day, for the hours of the run.
    #[serde(default)]
    pub hours: Vec<Hour>,
    /// Memory, beyond the core's own caches.
    pub memory: Option<Memory>,
    /// The number of steps around which probes ten times as long were taken, and, among those that both found exclusive
    /// or shared, the share on which they agree.
    pub checked: u64,
    pub agreement_share: Option<f64>,
    /// The relation of the other CPUs to this one.
    pub pairs: Vec<PairRow>,
    /// The tasks of this machine on the core's other hardware threads while the core was shared, the largest share
    /// first; empty where these are not this machine's own, or their events may not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<BesideRow>,
}

/// A task on another hardware thread of the core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BesideRow {
    /// The CPU of that hardware thread.
    pub cpu: usize,
    /// The name: `task cc1`, `interrupt local_timer`, `idle` for none.
    pub who: String,
    /// The share of the time in which the core was shared.
    pub shared_share: f64,
}

/// The loss of a kind of code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// The limit of this kind.
    pub kind: String,
    /// The medians of the loop.
    pub alone_ns: Option<f64>,
    pub shared_ns: Option<f64>,
    /// The ratio of shared to exclusive.
    pub ratio: Option<f64>,
    pub ratio_ci: Option<Interval>,
}

/// Uninterrupted stretches of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stretches {
    pub count: u64,
    pub median_ms: Option<f64>,
    pub longest_ms: Option<f64>,
    pub histogram: Vec<Bin>,
}

/// A piece of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Piece {
    pub from_s: f64,
    pub shared_share: Option<f64>,
}

/// An hour of the day, in UTC, of all the days of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hour {
    /// From 0 to 23.
    pub hour: u8,
    /// The number of steps that were exclusive or shared.
    pub steps: u64,
    /// The time that they represent, by which hours of several records are weighted.
    pub seconds: f64,
    /// The share of the shared ones.
    pub shared_share: f64,
}

/// The results of the memory probes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    pub count: u64,
    pub latency_p10_ns: f64,
    pub latency_p50_ns: f64,
    pub latency_p90_ns: f64,
    /// The sequential read rate of a core.
    pub read_p50_gb_per_s: f64,
    pub read_p10_gb_per_s: f64,
}

/// The relation to another CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairRow {
    pub cpu: usize,
    /// Whether it is a hardware thread of the same core; `null` if that could not be decided.
    pub shares: Option<bool>,
    /// The factor by which the loop of width takes longer while the other CPU works: the median of pairs of
    /// repetitions.
    pub narrowing: f64,
    /// The 99 % confidence interval of the factor.
    #[serde(default)]
    pub narrowing_ci: Option<Interval>,
    /// The time of a cache line from one to the other.
    pub line_ns: f64,
}
