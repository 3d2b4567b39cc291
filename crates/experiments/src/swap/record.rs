//! The record: a row for each lock and each metric.

use super::variant::{PLAIN, Variant};
use instruments::statistics::Interval;
use launch::is_within;
use record::{RecordRef, Unit};
use serde::{Deserialize, Serialize};
use terminal::{range, ratio};

/// A record of such a comparison.
pub type SwapRecord<'a> = RecordRef<'a, SwapParameters, SwapRow>;

/// A difference of a smaller part of the plain value is not worth another lock.
pub const LEAST_EFFECT: f64 = 0.02;

/// The number of metrics before the program's own ones: wall and CPU time.
pub const TIMES: usize = 2;

/// One lock, one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SwapRow {
    /// `plain`: the program as it is; `pass`: with the library, and the C library's locks; else the lock.
    pub lock: String,
    /// `wall time`, `CPU time`, or the name of what was found in the output.
    pub metric: String,
    /// In which unit `median`, `ci` and `values` are.
    pub unit: Unit,
    pub higher_is_better: bool,
    pub runs: u64,
    /// `null` without a run that ended well.
    pub median: Option<f64>,
    /// 95 %; `null` with fewer than six runs.
    pub ci: Option<Interval>,
    /// Over the plain runs' median.
    pub ratio: Option<f64>,
    pub ratio_ci: Option<Interval>,
    pub verdict: Verdict,
    /// The median of what other programs, and the hypervisor, had of the CPUs in the runs; `null` if these were too
    /// short to tell.
    #[serde(default)]
    pub others_share: Option<f64>,
    /// Each run's, in the order in which they came.
    pub values: Vec<f64>,
}

/// The verdict on a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is what the others are compared with.
    Baseline,
    Better,
    Worse,
    /// The interval of the ratio contains 1.
    NoDifferenceShown,
    /// The interval excludes 1, and every difference of the least effect or more.
    LessThanLeast,
    /// The interval excludes 1, but a difference of more than the least effect is not shown.
    Undecided,
    /// Too few runs for an interval, or for the number of comparisons.
    NotJudged,
    /// Other programs took the CPUs from it or from what it is compared with.
    BusyCpus,
    /// A run with it did not end well.
    Failed,
}

/// The options, and results for the whole program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SwapParameters {
    /// The program and its arguments, as it was compared.
    pub compared_program: Vec<String>,
    /// The mutexes that were exchanged; none: all.
    #[serde(default)]
    pub swap_only: Vec<String>,
    /// The trials of the search; empty without --search.
    #[serde(default)]
    pub search: Vec<SearchArm>,
    /// The flags that exchange what the search found; `null` if it found nothing.
    #[serde(default)]
    pub search_flags: Option<String>,
    pub prepare: Option<String>,
    pub cleanup: Option<String>,
    /// The command that measured it, if it is a server.
    #[serde(default)]
    pub client: Option<String>,
    pub warmup: u64,
    /// How many verdicts the table has: one of the plain figures' equals differs in at most one table of twenty.
    #[serde(default)]
    pub comparisons: u64,
    /// A verdict does not show a difference of a smaller part of the plain value.
    #[serde(default)]
    pub least_effect_share: f64,
    /// The sides, by number, in the order of their turns, round by round.
    pub order: Vec<Vec<usize>>,
    /// The objects that stayed with the C library, by side.
    pub left: Vec<LeftOf>,
    /// The locks that were waited for most, in one watched run of each side.
    #[serde(default)]
    pub watched: Vec<WatchedLock>,
    /// Why there are none of these; `null` if there are.
    #[serde(default)]
    pub unwatched: Option<String>,
}

/// A lock of the program, in the watched run of a side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedLock {
    /// `plain`, or the lock that was in it.
    pub lock: String,
    /// Which one it is: its variable, or where it is used.
    pub name: String,
    pub acquisitions: u64,
    pub contended: u64,
    pub wait_total_s: f64,
    pub wait_p50_ns: Option<f64>,
    pub wait_p99_ns: Option<f64>,
    /// Median of the timed holds.
    pub hold_p50_ns: Option<f64>,
    pub hold_p99_ns: Option<f64>,
    /// The part of the time waited, while a holder was known, in which that holder slept, or waited itself.
    #[serde(default)]
    pub holder_slept_share: Option<f64>,
    /// The place whose holds were waited for most.
    #[serde(default)]
    pub held_at: Option<String>,
}

/// One mutex with another lock, in one stage of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchArm {
    /// From 1.
    pub stage: u32,
    pub lock: String,
    pub mutex: String,
    pub runs: u64,
    /// Over the plain runs' median, of the metric that decides.
    pub ratio: Option<f64>,
    pub ratio_ci: Option<Interval>,
    pub verdict: Verdict,
    /// Whether it had another stage, or is in the result.
    pub kept: bool,
}

impl SearchArm {
    pub fn of(stage: u32, row: &SwapRow, variant: &Variant, kept: bool) -> Self {
        let SwapRow { runs, ratio, ratio_ci, verdict, .. } = *row;
        let mutex = variant.only.iter().map(|(name, _)| name.clone()).collect::<Vec<String>>().join(", ");
        Self { stage, lock: variant.lock.to_owned(), mutex, runs, ratio, ratio_ci, verdict, kept }
    }
}

/// Objects that were initialised in all runs of a side, and could not be exchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOf {
    pub lock: String,
    /// Processes that loaded the library.
    pub processes: u64,
    pub robust: u64,
    pub priority: u64,
    pub shared: u64,
    pub rwlocks: u64,
    pub spins: u64,
    /// Mutexes that were exchanged since a function that is meant initialised them, or took them first.
    #[serde(default)]
    pub chosen: u64,
    /// Why it has no more runs.
    pub failed: Option<String>,
}

impl SwapRow {
    /// Returns whether it is of a lock, and not of the program or the library alone.
    pub fn is_lock(&self) -> bool {
        self.lock != PLAIN && self.lock != exchange::PASS
    }

    /// Returns the verdict that agrees with the interval: older records have `no_difference_shown` for each of the open
    /// ones.
    pub fn agreed_verdict(&self) -> Verdict {
        match (self.verdict, self.ratio_ci) {
            (Verdict::NoDifferenceShown, Some(ends)) => Verdict::open(ends),
            (verdict, _) => verdict,
        }
    }

    /// Returns how many times as good as the plain program it is.
    pub fn gain(&self) -> f64 {
        let ratio = self.ratio.unwrap_or(1.0);
        if self.higher_is_better { ratio } else { 1.0 / ratio }
    }
}

impl Verdict {
    /// Returns the verdict where a difference of more than the least effect is not shown.
    pub fn open(ratio: Interval) -> Self {
        if ratio.contains(1.0) {
            Self::NoDifferenceShown
        } else if is_within(ratio, LEAST_EFFECT) {
            Self::LessThanLeast
        } else {
            Self::Undecided
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Baseline => "",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifferenceShown => "no difference shown",
            Self::LessThanLeast => "less than least",
            Self::Undecided => "undecided",
            Self::NotJudged => "not judged",
            Self::BusyCpus => "CPUs busy",
            Self::Failed => "failed",
        }
    }
}

/// Returns the change as text: `wall time 1.07× that of the plain program (95 % CI 1.05–1.09)`.
pub fn change(row: &SwapRow) -> String {
    let ends = row.ratio_ci.map_or_else(String::new, |ends| format!(" (95 % CI {})", range(ends.low, ends.high)));
    let times =
        row.ratio.map_or_else(|| "unknown".to_owned(), |times| format!("{} that of the plain program", ratio(times)));
    format!("{} {times}{ends}", row.metric)
}
