//! The results: a row for each number of nodes, exact or simulated.

use super::plan::Parameters;
use instruments::statistics::Interval;
use record::RecordRef;
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type StepRecord<'a> = RecordRef<'a, Parameters, Row>;

/// The method by which a row was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// From the trace's distribution; the barrier takes no time.
    Exact,
    /// Counted in a simulated dissemination barrier.
    Barrier,
    /// From the traces of a job's ranks, in groups of them; the barrier takes no time.
    Ranks,
}

/// Steps of one length on a number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub method: Method,
    pub nodes: u64,
    /// The work of a step.
    pub step_us: f64,
    /// The step without noise: the work and the barrier.
    pub quiet_us: f64,
    pub mean_us: f64,
    pub p50_us: f64,
    /// The p90; `null` where the trace is too short.
    pub p90_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// The ratio of the mean to the quiet step.
    pub slowdown: f64,
    /// The slowdown if no step began in a gap; `null` for a simulation, in which the begin of steps is known.
    pub running_slowdown: Option<f64>,
    /// The 95 % CI from the runs of the simulation, or from parts of the ranks' traces.
    pub slowdown_ci: Option<Interval>,
    /// The control: all nodes interrupted at once; for ranks, all groups of them.
    pub together_slowdown: f64,
    /// For ranks: the slowdown if their traces are shifted against each other, as though no interruption were common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart_slowdown: Option<f64>,
    /// The number of counted steps of the simulation.
    pub simulated_steps: Option<u64>,
    /// The maximum number of nodes that the trace supports, with steps of this length.
    pub supported_nodes: u64,
    /// The minimum number of nodes that lose half their time, exactly; `null` if that is more than the trace supports
    /// or than 10,000,000.
    pub half_lost_nodes: Option<u64>,
}
