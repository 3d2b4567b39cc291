//! The record: a row for each lock, each share and each metric.

use instruments::statistics::Interval;
use launch::{FEWEST_RUNS, not_judged};
use record::{RecordRef, Unit};
use serde::{Deserialize, Serialize};

/// A record of shorter sections.
pub type WhatIfRecord<'a> = RecordRef<'a, WhatIfParameters, WhatIfRow>;

/// Which sections were shorter, and by how much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIf {
    pub lock: String,
    /// 0: as they are; 1: they take no time, as if the lock were free.
    pub shorter_share: f64,
}

/// One lock, one share, one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfRow {
    /// `null`: the program as it is, without the library.
    pub what_if: Option<WhatIf>,
    /// `wall time`, or the name of what was found in the output.
    pub metric: String,
    /// In which unit `median`, `ci`, `values` and `uncorrected` are.
    pub unit: Unit,
    pub higher_is_better: bool,
    pub runs: u64,
    /// The predicted value; `null` without a run that ended well.
    pub median: Option<f64>,
    /// 95 %; `null` with fewer than six runs.
    pub ci: Option<Interval>,
    /// The part of a time that is saved, or the part by which a rate is higher, relative to the share 0.
    pub gain: Option<f64>,
    /// Covers what the model does not know and what differs from run to run: waits for CPUs, handoffs, the cost of the
    /// library, and 2 % of the time for the method itself. Older records, without `handoffs_share`, cover the runs
    /// alone.
    pub gain_ci: Option<Interval>,
    pub verdict: Verdict,
    /// The part of the runs in which the CPUs would be the limit, and not the order of the lock operations.
    pub limited_by_cpus_share: f64,
    /// Each run's, in the order in which they came, as it would be.
    pub values: Vec<f64>,
    /// The same as they were, with the delays in them.
    pub uncorrected: Vec<f64>,
}

/// The verdict on a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is what the others are compared with, or what that is compared with.
    Baseline,
    Gain,
    Loss,
    /// The interval reaches what the method itself cannot tell from nothing.
    NoneShown,
    /// Too few runs for an interval.
    NotJudged,
    /// A run of it did not end well.
    Failed,
}

/// The gain of a metric by how much shorter the sections are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slope {
    pub lock: String,
    pub metric: String,
    /// The gain if all went on as it begins: by least squares, through no gain at the share 0.
    pub slope: f64,
    /// The interval from the ends of the gains' intervals.
    pub slope_ci: Interval,
}

/// A lock whose critical sections became shorter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChosenLock {
    pub lock: String,
    /// The total wait of all threads for it, in a traced run.
    pub wait_total_s: f64,
    /// In all runs with it: its sections, and the mean of what they took.
    pub sections: u64,
    pub section_mean_ns: Option<f64>,
}

/// The options, and results for the whole program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfParameters {
    /// The program and its arguments.
    pub what_if_program: Vec<String>,
    pub locks: Vec<ChosenLock>,
    /// Locks that were waited for and not tried.
    pub locks_left: Vec<String>,
    pub slopes: Vec<Slope>,
    /// The cost of the library: the time with it and nothing shorter, over the plain one.
    pub library_ratio: Option<f64>,
    /// With nothing shorter: the part of the time in which who was on the way to the program's end waited for a CPU.
    pub waits_for_cpus_share: Option<f64>,
    /// With nothing shorter: the part of the time, on the way to the program's end, between a release and the moment
    /// when the waiter ran again.
    #[serde(default)]
    pub handoffs_share: Option<f64>,
    /// Whether the program's own clock fixes its run time: then its wall time is not predicted.
    #[serde(default)]
    pub is_time_fixed: bool,
    pub prepare: Option<String>,
    pub cleanup: Option<String>,
    pub warmup: u64,
    /// The sides, by number, in the order of their turns, round by round: plain, nothing shorter, then lock by lock.
    pub order: Vec<Vec<usize>>,
}

impl Verdict {
    pub fn label(self) -> &'static str {
        match self {
            Self::Baseline => "",
            Self::Gain => "gain",
            Self::Loss => "loss",
            Self::NoneShown => "none shown",
            Self::NotJudged => "not judged",
            Self::Failed => "failed",
        }
    }
}

impl WhatIfRow {
    /// Returns the verdict for people.
    pub fn verdict_words(&self) -> String {
        match self.verdict {
            Verdict::NotJudged => not_judged(FEWEST_RUNS.checked_sub(self.runs)),
            verdict => verdict.label().to_owned(),
        }
    }

    pub fn is_of(&self, lock: &str, share: f64) -> bool {
        self.what_if.as_ref().is_some_and(|what_if| what_if.lock == lock && what_if.shorter_share == share)
    }
}
