//! The results: a row for each CPU and interval, and one for each CPU over the whole run.

use super::flags::Priority;
use super::plan::Parameters;
use instruments::statistics::Interval;
use record::RecordRef;
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type LoadRecord<'a> = RecordRef<'a, Parameters, Row>;

/// A row, distinguished by its field `measurement`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "measurement", rename_all = "snake_case")]
pub enum Row {
    Interval(IntervalRow),
    Total(TotalRow),
    AllCpus(AllCpusRow),
}

/// The division of a CPU's time.
///
/// Shares of the time in which the spinner wanted the CPU, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shares {
    /// The share that the spinner did not get.
    pub load_share: f64,
    /// The share that it got, by its own CPU time.
    pub cputime_share: f64,
    /// The share that it could use, by the work it did.
    pub grind_share: f64,
    /// The share that it got and could not use: interrupts and the hypervisor took it inside the spinner's running
    /// time.
    pub lost_inside_share: f64,
    /// The load in `/proc/stat`, of the wall time, less the spinner's; `None` when it cannot be read.
    pub proc_stat_share: Option<f64>,
    /// The time that all other tasks ran, of the wall time, by the kernel's exact account; `None` where there is none.
    pub exec_share: Option<f64>,
    /// The CPU's speed while the spinner ran, relative to that of the calibration; `None` when it did not run.
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
    /// The share that all other tasks ran while the spinner rested; `None` where no exact account can be read.
    pub resting_exec_share: Option<f64>,
    /// The busy loops per CPU second of all spinners together, relative to one alone; `None` with one spinner.
    pub efficiency_share: Option<f64>,
}

/// One CPU over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TotalRow {
    /// The length of the run.
    pub time_s: f64,
    pub cpu: usize,
    /// The number of intervals of the run.
    pub intervals: u64,
    /// The priority of the spinner.
    pub priority: String,
    #[serde(flatten)]
    pub shares: Shares,
    /// The largest and the smallest share that the spinner got in an interval.
    pub cputime_most_share: f64,
    pub cputime_least_share: f64,
    /// The share of the CPU that the spinner takes from others: they run this much more while it rests.
    ///
    /// Negative when they ran longer while it was active. The median of the intervals.
    pub taken_share: Option<f64>,
    pub taken_ci: Option<Interval>,
    /// The busy loops per CPU second of all spinners together, relative to one alone.
    ///
    /// The median of the intervals.
    pub efficiency_share: Option<f64>,
    pub efficiency_ci: Option<Interval>,
    /// The share of the spinner's probes that found its core shared with an SMT sibling; `null` without probes.
    #[serde(default)]
    pub core_shared_share: Option<f64>,
    /// Its 95 % interval, by the scatter between stretches of the run; `null` where these are too few, or where all or
    /// none of the probes found it shared.
    #[serde(default)]
    pub core_shared_share_ci: Option<Interval>,
    /// The share that the sibling took of the speed of code that is limited by the core's width, in the time that the
    /// spinner got.
    #[serde(default)]
    pub width_lost_share: Option<f64>,
    /// One jiffy as a share of the run: the resolution of `/proc/stat`.
    pub proc_stat_resolution_share: f64,
}

/// The share that the spinners of all CPUs take together.
///
/// A load that is not pinned moves to another CPU while they rest, or while they are active, so a single CPU's value
/// means little.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllCpusRow {
    pub time_s: f64,
    /// The share of the time of all CPUs.
    pub taken_share: Option<f64>,
    pub taken_ci: Option<Interval>,
}

impl TotalRow {
    /// Returns whether the spinner got only the time that no other thread wanted.
    pub fn is_idle(&self) -> bool {
        self.priority == Priority::IDLE.to_string()
    }
}

impl Row {
    /// Returns the row of an interval, if it is one.
    pub fn interval(&self) -> Option<&IntervalRow> {
        if let Self::Interval(row) = self { Some(row) } else { None }
    }

    /// Returns the row of the whole run, if it is one.
    pub fn total(&self) -> Option<&TotalRow> {
        if let Self::Total(row) = self { Some(row) } else { None }
    }

    /// Returns the row of all CPUs together, if it is that.
    pub fn all_cpus(&self) -> Option<&AllCpusRow> {
        if let Self::AllCpus(row) = self { Some(row) } else { None }
    }
}
