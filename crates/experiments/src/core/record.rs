//! The results: a row for each CPU.

use super::plan::Parameters;
use instruments::statistics::Interval;
use instruments::warning::WarningKind;
use record::{Bin, RecordRef};
use serde::{Deserialize, Serialize};
use terminal::percent;

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

/// The least share of conclusive probes, of ten times the length, that must agree: otherwise the short ones do not
/// distinguish an exclusive core from a shared one, as on a machine whose load changes between the two.
const LEAST_AGREEMENT: f64 = 0.9;

impl Row {
    /// Returns whether the longer probes confirm what the steps say about the core, as far as there were any.
    pub fn is_confirmed(&self) -> bool {
        self.agreement_share.is_none_or(|share| share >= LEAST_AGREEMENT)
    }

    /// Removes the values of a core that the longer probes do not confirm.
    pub fn with_confirmed_sharing(self) -> Self {
        if self.is_confirmed() {
            return self;
        }
        let unknown = |piece: Piece| Piece { shared_share: None, ..piece };
        Self {
            shared_share: None,
            shared_share_ci: None,
            cost_width: None,
            cost_latency: None,
            costs: Vec::new(),
            stretches: Stretches::default(),
            timeline: self.timeline.into_iter().map(unknown).collect(),
            hours: Vec::new(),
            beside: Vec::new(),
            ..self
        }
    }
}

/// The warning that longer probes do not confirm the sharing of a core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbesDisagree {
    pub cpu: usize,
    /// The share of the longer probes that agree.
    pub agreement_share: f64,
}

impl WarningKind for ProbesDisagree {
    const CODE: &'static str = "probes_disagree";

    fn message(&self) -> String {
        let share = percent(self.agreement_share);
        format!("only {share} of the probes ten times as long agree on CPU {}: SMT interference is unknown", self.cpu)
    }

    fn remedy(&self) -> &'static str {
        "measure while other programs use less CPU time, or for longer"
    }
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

/// Rows by hand, for the tests of the views.
#[cfg(test)]
pub mod sample {
    use super::*;
    use instruments::statistics::Interval;
    use record::Bin;

    /// Returns a CPU whose core was shared for this share of the time.
    pub fn row(cpu: usize, shared_share: Option<f64>) -> Row {
        let cost = |kind: &str, alone_ns: f64, ratio: f64| Cost {
            kind: kind.to_owned(),
            alone_ns: Some(alone_ns),
            shared_ns: Some(alone_ns * ratio),
            ratio: Some(ratio),
            ratio_ci: Some(Interval::new(ratio * 0.99, ratio * 1.01)),
        };
        Row {
            cpu,
            steps: 400_000,
            shared_share,
            shared_share_ci: shared_share.map(|share| Interval::new((share - 0.06).max(0.0), share + 0.06)),
            neither_share: 0.02,
            best_ticks: Some(2.25),
            best_cycles: Some(3.0),
            doubt: None,
            frequency_ghz: Some(2.8),
            cost_width: Some(1.75),
            cost_latency: Some(1.0),
            costs: vec![cost("width", 430.0, 1.75), cost("latency", 640.0, 1.0)],
            stretches: Stretches {
                count: 3,
                median_ms: Some(2.0),
                longest_ms: Some(80.0),
                histogram: vec![
                    Bin { from_ns: 1e6, to_ns: 2e6, count: 2 },
                    Bin { from_ns: 64e6, to_ns: 128e6, count: 1 },
                ],
            },
            timeline: (0..240).map(|place| Piece { from_s: f64::from(place) / 24.0, shared_share }).collect(),
            hours: shared_share
                .map(|shared_share| Hour { hour: 9, steps: 390_000, seconds: 10.0, shared_share })
                .into_iter()
                .collect(),
            memory: Some(Memory {
                count: 1_000,
                latency_p10_ns: 70.0,
                latency_p50_ns: 85.0,
                latency_p90_ns: 130.0,
                read_p50_gb_per_s: 9.0,
                read_p10_gb_per_s: 6.0,
            }),
            checked: 25_000,
            agreement_share: Some(0.998),
            beside: Vec::new(),
            pairs: vec![PairRow {
                cpu: 1 - cpu.min(1),
                shares: Some(false),
                narrowing: 1.01,
                narrowing_ci: Some(Interval::new(0.99, 1.02)),
                line_ns: 61.0,
            }],
        }
    }
}
