//! The record: rows of four kinds, distinguished by `figure`, and its warnings.

use instruments::evidence::{Cause, Source};
use instruments::statistics::Interval;
use instruments::warning::WarningKind;
use record::Record;
use serde::{Deserialize, Serialize};

/// The experiment's name.
pub const NAME: &str = "lockstep";

/// A record of this experiment.
pub type LockstepRecord = Record<Parameters, Row>;

/// The operation that synchronises the ranks.
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
    /// Returns MPI's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier => "MPI_Barrier",
            Self::Allreduce => "MPI_Allreduce",
        }
    }
}

/// The parameters, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    /// The work of a step.
    pub step_us: f64,
    /// The operation that synchronises the ranks.
    pub collective: Collective,
    /// The number of ranks of the job.
    pub ranks: u64,
    /// The machines that they ran on.
    pub hosts: Vec<String>,
    /// The repetitions of sampling, and of steps for each number of ranks.
    pub turns: u64,
    /// The planned time of the whole job.
    pub seconds: f64,
    /// The length of injected interruptions, …
    pub injected_us: Option<f64>,
    /// … and the time from one to the next.
    pub injected_every_us: Option<f64>,
    /// The name of the MPI library, as it reports it.
    pub mpi: String,
    /// The assumptions of the predictions.
    pub assumptions: Vec<String>,
}

/// A value of the job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "figure", rename_all = "snake_case")]
pub enum Row {
    /// Steps of a number of ranks, measured and predicted.
    Steps(StepsRow),
    /// A prediction for more nodes than there are ranks.
    Nodes(NodesRow),
    /// One of the longest steps.
    LongStep(LongStep),
    /// A rank: its place and its losses.
    Rank(Box<RankRow>),
}

/// Steps of a number of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepsRow {
    /// The number of ranks, the first of the job.
    pub ranks: u64,
    /// The number of measured steps, in all repetitions.
    pub steps: u64,
    /// The work of the slowest rank of each step, without gaps, and the barrier: the length of a step without noise.
    pub quiet_us: f64,
    /// The median time from the last arrival until that rank continues.
    pub barrier_us: f64,
    /// The mean step.
    pub mean_us: f64,
    /// The median step, …
    pub p50_us: f64,
    /// … and its p99.
    pub p99_us: f64,
    /// The longest step.
    pub longest_us: f64,
    /// The measured slowdown: the ratio of the mean step to the step without noise.
    pub slowdown: f64,
    /// The 95 % CI from the repetitions.
    pub slowdown_ci: Option<Interval>,
    /// The slowdown predicted from the ranks' traces, with common interruptions kept together, …
    pub predicted_slowdown: f64,
    /// … and the 95 % interval of the mean of this many steps, from the tenths of the recording.
    pub predicted_ci: Option<Interval>,
    /// The slowdown predicted from traces shifted against each other, as if no interruption were common.
    pub apart_slowdown: f64,
    /// Whether each of the two is in the other's interval; `null` without intervals.
    pub agree: Option<bool>,
    /// Whether some of these ranks shared a CPU.
    pub oversubscribed: bool,
}

/// A prediction for a number of nodes, of which only some exist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodesRow {
    /// The number of nodes.
    pub nodes: u64,
    /// The slowdown if groups of as many nodes as there are ranks are interrupted as these were, each group
    /// independently, …
    pub slowdown: f64,
    /// … with the 95 % interval over the parts of the recording.
    pub slowdown_ci: Option<Interval>,
    /// The slowdown if all groups were interrupted at the same moments.
    pub together_slowdown: f64,
    /// Whether the traces are long enough for this number; otherwise the prediction lacks gaps longer than the longest
    /// recorded one.
    pub supported: bool,
    /// The maximum number of nodes that the traces are long enough for.
    pub supported_nodes: u64,
}

/// A long step and its cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongStep {
    /// The number of ranks that took part.
    pub ranks: u64,
    /// The number of the repetition.
    pub turn: u64,
    /// The number of the step in the repetition.
    pub step: u64,
    /// The length of the step.
    pub length_us: f64,
    /// The last rank to arrive; `null` where the clocks' error leaves it open.
    pub last: Option<u64>,
    /// The time that each rank's CPU lost in it.
    pub lost_us: Vec<f64>,
    /// The cause that took most of it from the rank that lost most.
    pub cause: Option<Cause>,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankRow {
    /// The number of the rank.
    pub rank: u64,
    /// The machine of the rank.
    pub host: String,
    /// The CPU that it was pinned to.
    pub cpu: u64,
    /// The number of ranks on that CPU, itself included.
    pub ranks_on_cpu: u64,
    /// The offset from its clock to rank 0's, at first, …
    pub clock_offset_us: f64,
    /// … the maximum error of the offset at any time, …
    pub clock_error_us: f64,
    /// … and the rate at which rank 0's clock gains on its own.
    pub clock_drift_ppm: f64,
    /// The work of a step without gaps, from the time of sampling, …
    pub work_us: f64,
    /// … and in the steps themselves.
    pub work_in_steps_us: f64,
    /// The time above a busy loop's usual length from which on it counts as a gap.
    pub margin_us: f64,
    /// The number of gaps while sampling, …
    pub gaps: u64,
    /// … the share of the time that they took, …
    pub lost_share: f64,
    /// … and the longest.
    pub longest_us: f64,
    /// The share of the working time that gaps took in the steps.
    pub lost_in_steps_share: f64,
    /// The number of steps of all ranks in which it was last, …
    pub last_steps: u64,
    /// … and of those in which it may have been, within the clocks' error.
    pub maybe_last_steps: u64,
    /// The causes of lost time while sampling, the largest first.
    pub causes: Vec<CauseRow>,
    /// The causes of lost time in the steps.
    pub causes_in_steps: Vec<CauseRow>,
    /// The share of the gaps' time in the steps that the kernel events explain.
    pub explained_share: Option<f64>,
    /// The evidence source.
    pub evidence: Source,
    /// The losses while sampling: `# span_ns N`, then `start_ns duration_ns` for each gap, by rank 0's clock.
    pub trace: String,
}

/// A cause of a rank's lost time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseRow {
    /// The cause.
    #[serde(flatten)]
    pub cause: Cause,
    /// The number of gaps that it had a part in.
    pub count: u64,
    /// The time that it took.
    pub total_us: f64,
    /// The share of the time of all gaps.
    pub share: f64,
}

/// The warning that ranks shared CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Oversubscribed {
    /// The number of ranks of the job.
    pub ranks: u64,
    /// The number of CPUs that they were pinned to.
    pub cpus: u64,
}

impl WarningKind for Oversubscribed {
    const CODE: &'static str = "oversubscribed";

    fn message(&self) -> String {
        let Self { ranks, cpus } = self;
        format!(
            "there are more ranks than CPUs ({ranks} on {cpus}): each step also waits for ranks that wait for a CPU"
        )
    }

    fn remedy(&self) -> &'static str {
        "start at most one rank per CPU: ranks that share a CPU lose different amounts of time while all compute and while \
         they wait for each other, so measured and predicted steps differ"
    }
}

/// The warning that gaps were too many for a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortGapsLeftOut {
    /// Gaps shorter than this are in no trace, in µs.
    pub below_us: f64,
    /// The share of the lost time that they took, on the rank that lost most.
    pub lost_share: f64,
}

impl WarningKind for ShortGapsLeftOut {
    const CODE: &'static str = "short_gaps_left_out";

    fn message(&self) -> String {
        let Self { below_us, lost_share } = self;
        let percent = lost_share * 100.0;
        format!("gaps below {below_us:.2} µs are omitted from the traces: up to {percent:.1} % of a rank's lost time")
    }

    fn remedy(&self) -> &'static str {
        "measure for a shorter time: the record has room for a limited number of gaps"
    }
}
