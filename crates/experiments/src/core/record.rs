//! What came out: a row for each CPU.

use super::plan::Parameters;
use instruments::statistics::Interval;
use record::{Bin, RecordRef};
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type CoreRecord<'a> = RecordRef<'a, Parameters, Row>;

/// A CPU, and who else was on its core. What was not seen is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub cpu: usize,
    /// Steps of about the same length, each between two probes.
    pub steps: u64,
    /// Of the steps that were alone or shared, the shared ones.
    pub shared_share: Option<f64>,
    /// By the scatter between blocks of whole stretches; `null` where these are too few.
    #[serde(default)]
    pub shared_share_ci: Option<Interval>,
    /// Of all steps, those that were neither: their probes did not agree, or not clearly.
    pub neither_share: f64,
    /// What the loop of width takes at its best: in ticks of the clock and in cycles of the core, a round.
    pub best_ticks: Option<f64>,
    pub best_cycles: Option<f64>,
    /// Why that may not be the core alone.
    pub doubt: Option<String>,
    /// The median frequency by the loop of latency.
    pub frequency_ghz: Option<f64>,
    /// How many times as long code takes while the core is shared: limited by width, and limited by latency.
    pub cost_width: Option<f64>,
    pub cost_latency: Option<f64>,
    /// The same for each kind of code.
    pub costs: Vec<Cost>,
    /// In how long stretches the core was shared without a break.
    pub stretches: Stretches,
    /// The share of shared steps in each piece of the run, from its start.
    pub timeline: Vec<Piece>,
    /// The same by the hour of the day, for the hours that the run saw.
    #[serde(default)]
    pub hours: Vec<Hour>,
    /// Memory, beyond the core's own caches.
    pub memory: Option<Memory>,
    /// Steps around which probes ten times as long were taken, and of those that both found alone or shared, how many
    /// they agree on.
    pub checked: u64,
    pub agreement_share: Option<f64>,
    /// What the other CPUs are to this one.
    pub pairs: Vec<PairRow>,
    /// Of the time in which the core was shared, who of this machine's own had its other hardware threads, the most
    /// first; empty where these are not its own, or nobody may look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<BesideRow>,
}

/// Somebody on another hardware thread of the core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BesideRow {
    /// That hardware thread's CPU.
    pub cpu: usize,
    /// `task cc1`, `interrupt local_timer`, `idle` for nobody.
    pub who: String,
    /// Of the time in which the core was shared.
    pub shared_share: f64,
}

/// What a kind of code loses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// What limits it.
    pub kind: String,
    /// Medians of the loop.
    pub alone_ns: Option<f64>,
    pub shared_ns: Option<f64>,
    /// Shared over alone.
    pub ratio: Option<f64>,
    pub ratio_ci: Option<Interval>,
}

/// Unbroken stretches of time.
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
    /// Steps that were alone or shared.
    pub steps: u64,
    /// The time that they stand for, by which hours of several records are weighed.
    pub seconds: f64,
    /// Of these the shared ones.
    pub shared_share: f64,
}

/// What the socket answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    pub count: u64,
    pub latency_p10_ns: f64,
    pub latency_p50_ns: f64,
    pub latency_p90_ns: f64,
    /// What a core reads in a row.
    pub read_p50_gb_per_s: f64,
    pub read_p10_gb_per_s: f64,
}

/// Another CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairRow {
    pub cpu: usize,
    /// Whether it is a hardware thread of the same core; `null` if that could not be told.
    pub shares: Option<bool>,
    /// How many times as long the loop of width takes while the other works: the median of pairs of turns.
    pub narrowing: f64,
    /// Where that lies, with a confidence of 99 %.
    #[serde(default)]
    pub narrowing_ci: Option<Interval>,
    /// How long a cache line takes from one to the other.
    pub line_ns: f64,
}
