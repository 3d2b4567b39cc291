//! What came out: a row for each number of nodes, exact or simulated.

use super::plan::Parameters;
use instruments::statistics::Interval;
use record::RecordRef;
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type StepRecord<'a> = RecordRef<'a, Parameters, Row>;

/// How a row came about.
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

/// Steps of one length on so many nodes.
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
    /// `null` where the trace is too short to tell.
    pub p90_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// Mean over quiet.
    pub slowdown: f64,
    /// The same if no step began in a gap; `null` for a simulation, which knows where its steps begin.
    pub running_slowdown: Option<f64>,
    /// 95 %, from the runs of the simulation, or from parts of the ranks' traces.
    pub slowdown_ci: Option<Interval>,
    /// The control: all nodes interrupted at once; of ranks, all groups of them.
    pub together_slowdown: f64,
    /// Of ranks: if their traces are shifted against each other, as though nothing were common to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart_slowdown: Option<f64>,
    /// Counted steps of the simulation.
    pub simulated_steps: Option<u64>,
    /// The most nodes that the trace is long enough for, with steps of this length.
    pub supported_nodes: u64,
    /// The fewest nodes that lose half their time, exactly; `null` if that is more than the trace supports or than
    /// 10,000,000.
    pub half_lost_nodes: Option<u64>,
}
