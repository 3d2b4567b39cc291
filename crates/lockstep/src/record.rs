//! What came out: rows of four kinds, told apart by `figure`.

use instruments::evidence::{Cause, Source};
use instruments::statistics::Interval;
use record::Record;
use serde::{Deserialize, Serialize};

/// The experiment's name.
pub const NAME: &str = "lockstep";

/// A record of this experiment.
pub type LockstepRecord = Record<Parameters, Row>;

/// How the ranks meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Collective {
    /// `MPI_Barrier`
    Barrier,
    /// `MPI_Allreduce` of one number
    Allreduce,
}

impl Collective {
    /// By MPI's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier => "MPI_Barrier",
            Self::Allreduce => "MPI_Allreduce",
        }
    }
}

/// What was asked for, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    /// The work of a step.
    pub step_us: f64,
    /// How they meet.
    pub collective: Collective,
    /// Ranks of the job.
    pub ranks: u64,
    /// Machines that they ran on.
    pub hosts: Vec<String>,
    /// Turns of watching, and of steps for each number of ranks.
    pub turns: u64,
    /// Planned for the whole.
    pub seconds: f64,
    /// Interruptions that the ranks inflicted on themselves: their length, …
    pub injected_us: Option<f64>,
    /// … and the time from one to the next.
    pub injected_every_us: Option<f64>,
    /// The MPI library, as it calls itself.
    pub mpi: String,
    /// What is assumed for the predictions.
    pub assumptions: Vec<String>,
}

/// A figure of the job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "figure", rename_all = "snake_case")]
pub enum Row {
    /// Steps of so many ranks, measured and predicted.
    Steps(StepsRow),
    /// More nodes than there are ranks.
    Nodes(NodesRow),
    /// One of the longest steps.
    LongStep(LongStep),
    /// A rank: where it was, what it lost.
    Rank(Box<RankRow>),
}

/// Steps of so many ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepsRow {
    /// The first so many of the job.
    pub ranks: u64,
    /// Steps measured, in all turns.
    pub steps: u64,
    /// The work of the slowest rank of each step, without gaps, and the barrier: what a step takes without noise.
    pub quiet_us: f64,
    /// From the last one's arrival until it goes on: the median.
    pub barrier_us: f64,
    /// The mean step.
    pub mean_us: f64,
    /// The median step, …
    pub p50_us: f64,
    /// … and the one that one in a hundred exceeds.
    pub p99_us: f64,
    /// The longest step.
    pub longest_us: f64,
    /// Measured: the mean over the step without noise.
    pub slowdown: f64,
    /// 95 %, from the turns.
    pub slowdown_ci: Option<Interval>,
    /// Predicted from the ranks' traces, what was common to them kept together, …
    pub predicted_slowdown: f64,
    /// … and where the mean of so many steps lies for 95 %, by the tenths of the recording.
    pub predicted_ci: Option<Interval>,
    /// The same with the traces shifted against each other: as if nothing were common.
    pub apart_slowdown: f64,
    /// Whether each of the two lies in the other's interval; `null` without intervals.
    pub agree: Option<bool>,
    /// Of these ranks, some shared a CPU.
    pub oversubscribed: bool,
}

/// So many nodes, of which there are only some.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodesRow {
    /// How many.
    pub nodes: u64,
    /// If groups of as many nodes as there are ranks are interrupted as these were, each group by itself, …
    pub slowdown: f64,
    /// … with the 95 % interval over the parts of the recording.
    pub slowdown_ci: Option<Interval>,
    /// If all groups were interrupted at the same moments.
    pub together_slowdown: f64,
    /// Whether the traces are long enough to tell; otherwise no gap longer than the longest recorded one is in it.
    pub supported: bool,
    /// The most nodes that they are long enough for.
    pub supported_nodes: u64,
}

/// A step that took long, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongStep {
    /// How many ranks took part.
    pub ranks: u64,
    /// Which turn.
    pub turn: u64,
    /// Which step of the turn.
    pub step: u64,
    /// Its length.
    pub length_us: f64,
    /// Who was last; `null` where the clocks' error leaves it open.
    pub last: Option<u64>,
    /// What each rank's CPU lost in it.
    pub lost_us: Vec<f64>,
    /// What took most of it from the one that lost most.
    pub cause: Option<Cause>,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankRow {
    /// Its number.
    pub rank: u64,
    /// Its machine.
    pub host: String,
    /// The CPU that it was pinned to.
    pub cpu: u64,
    /// Ranks on that CPU, itself among them.
    pub ranks_on_cpu: u64,
    /// What was added to its clock for rank 0's, at first, …
    pub clock_offset_us: f64,
    /// … by how much that may be off at any time, …
    pub clock_error_us: f64,
    /// … and how fast rank 0's clock gains on its own.
    pub clock_drift_ppm: f64,
    /// Its work of a step without gaps, by the time watched, …
    pub work_us: f64,
    /// … and in the steps themselves.
    pub work_in_steps_us: f64,
    /// What stands so much above a grind's usual time is a gap.
    pub margin_us: f64,
    /// While it was watched: gaps, …
    pub gaps: u64,
    /// … the share of the time that they took, …
    pub lost_share: f64,
    /// … and the longest.
    pub longest_us: f64,
    /// In the steps: the share of the working time that gaps took.
    pub lost_in_steps_share: f64,
    /// Steps of all ranks in which it was last, …
    pub last_steps: u64,
    /// … and those in which it may have been, within the clocks' error.
    pub maybe_last_steps: u64,
    /// What took the time while it was watched, the most first.
    pub causes: Vec<CauseRow>,
    /// The same in the steps.
    pub causes_in_steps: Vec<CauseRow>,
    /// The share of the gaps' time in the steps that the kernel's record explains.
    pub explained_share: Option<f64>,
    /// Where the evidence comes from.
    pub evidence: Source,
    /// What it lost while it was watched: `# span_ns N`, then `start_ns duration_ns` for each gap, by rank 0's clock.
    pub trace: String,
}

/// What took a rank's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseRow {
    /// Who.
    #[serde(flatten)]
    pub cause: Cause,
    /// Gaps that it had a part in.
    pub count: u64,
    /// The time.
    pub total_us: f64,
    /// Of the time of all gaps.
    pub share: f64,
}
