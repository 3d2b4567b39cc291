//! What came out: a row for each CPU and interval, and one for each CPU over the whole run.

use super::plan::Parameters;
use instruments::statistics::Interval;
use record::RecordRef;
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type LoadRecord<'a> = RecordRef<'a, Parameters, Row>;

/// A row, told from the others by its field `measurement`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "measurement", rename_all = "snake_case")]
pub enum Row {
    Interval(IntervalRow),
    Total(TotalRow),
    AllCpus(AllCpusRow),
}

/// How a CPU's time was divided. Shares of the time in which the soaker wanted the CPU, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shares {
    /// What the soaker did not get.
    pub load_share: f64,
    /// What it got, by its own CPU time.
    pub cputime_share: f64,
    /// What it could use, by the work it did.
    pub grind_share: f64,
    /// Got and not usable: interrupts and the hypervisor took it inside the soaker's running time.
    pub lost_inside_share: f64,
    /// The load as `/proc/stat` has it, of the wall time, the soaker taken off; `None` when it cannot be read.
    pub proc_stat_share: Option<f64>,
    /// What all other tasks ran, of the wall time, by the kernel's exact account; `None` where there is none.
    pub exec_share: Option<f64>,
    /// The CPU's speed while the soaker ran, against that of the calibration; `None` when it did not run.
    pub speed_share: Option<f64>,
}

/// One CPU in one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntervalRow {
    /// The interval's end, since the first one's start.
    pub time_s: f64,
    pub cpu: usize,
    #[serde(flatten)]
    pub shares: Shares,
    /// What all other tasks ran while the soaker rested; `None` where no exact account can be read.
    pub resting_exec_share: Option<f64>,
    /// Grinds in a CPU second by all soakers together, against one alone; `None` with one soaker.
    pub efficiency_share: Option<f64>,
}

/// One CPU over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TotalRow {
    /// The run's length.
    pub time_s: f64,
    pub cpu: usize,
    /// Intervals it is made of.
    pub intervals: u64,
    /// What the soaker's priority was.
    pub priority: String,
    #[serde(flatten)]
    pub shares: Shares,
    /// The most and the least that an interval left to the soaker.
    pub cputime_most_share: f64,
    pub cputime_least_share: f64,
    /// The share of the CPU that the soaker takes: while it rests, the others run this much more. Negative when they
    /// ran longer beside it. The median of the intervals.
    pub taken_share: Option<f64>,
    pub taken_ci: Option<Interval>,
    /// Grinds in a CPU second by all soakers together, against one alone. The median of the intervals.
    pub efficiency_share: Option<f64>,
    pub efficiency_ci: Option<Interval>,
    /// Of the soaker's looks at its core, the share of those that found it shared with another hardware thread; `null`
    /// where it did not look.
    #[serde(default)]
    pub core_shared_share: Option<f64>,
    /// Its 95 % interval, by the scatter between stretches of the run; `null` where these are too few, or where all or
    /// none of the looks found it shared.
    #[serde(default)]
    pub core_shared_share_ci: Option<Interval>,
    /// What that thread took of the speed of code that is limited by the core's width, in the time that the soaker got.
    #[serde(default)]
    pub width_lost_share: Option<f64>,
    /// One jiffy of the run: what `/proc/stat` cannot tell.
    pub proc_stat_resolution_share: f64,
}

/// What the soakers of all CPUs take together. A load that is not pinned moves to another CPU while they rest, or while
/// they grind, so a single CPU's figure says little of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllCpusRow {
    pub time_s: f64,
    /// Of the time of all CPUs.
    pub taken_share: Option<f64>,
    pub taken_ci: Option<Interval>,
}

impl Row {
    /// The row of an interval, if it is one.
    pub fn interval(&self) -> Option<&IntervalRow> {
        if let Self::Interval(row) = self { Some(row) } else { None }
    }

    /// The row of the whole run, if it is one.
    pub fn total(&self) -> Option<&TotalRow> {
        if let Self::Total(row) = self { Some(row) } else { None }
    }

    /// What is known of all CPUs together, if it is that.
    pub fn all_cpus(&self) -> Option<&AllCpusRow> {
        if let Self::AllCpus(row) = self { Some(row) } else { None }
    }
}
