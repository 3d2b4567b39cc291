//! The record: a row for each metric and each side, and the runs with their conditions.

use instruments::statistics::Interval;
use launch::not_judged;
use record::{RecordRef, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use terminal::percent;

/// A record of this experiment.
pub type AbRecord<'a> = RecordRef<'a, AbParameters, AbRow>;

/// One metric of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbRow {
    /// `wall_s`, `cpu_s`, `memory_kib`, or the name of a number in the output; these are judged. `user_s`, `system_s`,
    /// `context_switches` and `page_faults` explain them.
    pub metric: String,
    /// The command, and the revision and the parameters that tell it from others.
    pub side: String,
    /// Whether the comparison goes on until this metric is known well enough.
    pub is_decisive: bool,
    pub higher_is_better: bool,
    pub runs: u64,
    /// In the unit that the name of the metric ends in, as `ci` and `values`.
    pub median: f64,
    /// 95 %; `null` with fewer than six runs.
    pub ci: Option<Interval>,
    /// The side that it is compared with; `null` if others are compared with it.
    pub compared_with: Option<String>,
    /// The median of the ratios of paired runs (Hodges-Lehmann).
    pub ratio: Option<f64>,
    /// 95 %, over all looks together.
    pub ratio_ci: Option<Interval>,
    /// `null` for the side that others are compared with, and for a metric that is not judged.
    pub verdict: Option<Verdict>,
    /// Runs of each side that are missing for a verdict, if the next ones are like those so far; `null` if there is one.
    #[serde(default)]
    pub missing_runs: Option<u64>,
    /// The difference, as a share, that 9 of 10 comparisons of this length would have found.
    pub power: Option<f64>,
    /// Each run's value, block by block.
    pub values: Vec<f64>,
}

/// The verdict on a metric of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Faster,
    Slower,
    /// For a metric that is not a time.
    Better,
    Worse,
    /// The interval of the ratio contains 1.
    NoDifferenceShown,
    /// There are too few runs for an interval, or for a difference that is shown among all comparisons.
    NotJudged,
    /// Every plausible difference is smaller than `least_share`.
    LessThanLeast,
}

/// The options, the order of the runs, and what is not of a single metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbParameters {
    pub sides: Vec<SideRecord>,
    /// The planned time of the runs; `null` if they were counted.
    pub planned_s: Option<f64>,
    /// A difference of a smaller share does not matter.
    pub least_share: f64,
    /// The number of verdicts; equals have any other verdict than no difference in at most one comparison of twenty.
    pub comparisons: u64,
    pub warmup: u64,
    pub prepare: Option<String>,
    pub cleanup: Option<String>,
    pub client: Option<String>,
    pub input: Option<String>,
    /// Whether each run had an environment of another size.
    pub is_environment_random: bool,
    /// Whether the blocks with a disturbed run are used.
    pub disturbed_runs: DisturbedRuns,
    /// The looks at the data, which spend the error of the verdicts.
    pub looks: Vec<LookRecord>,
    pub ended_by: EndedBy,
    /// Whether the first command was shown to differ from itself; `null` without --control.
    pub control_differs: Option<bool>,
    /// The memory of contend itself, below which the memory of a program cannot be seen.
    pub memory_floor_kib: u64,
    /// Blocks with a disturbed run that the ratios omit.
    pub omitted_blocks: Vec<u64>,
    /// All runs in their order.
    pub runs: Vec<RunRecord>,
    /// Waits for locks, in one traced run of each side.
    #[serde(default)]
    pub watched: Vec<WatchedSide>,
    /// Why there are none; `null` if there are, or without --watch.
    #[serde(default)]
    pub unwatched: Option<String>,
}

/// A command with its surroundings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideRecord {
    pub side: String,
    pub command: String,
    /// Whether a shell runs it.
    pub shell: bool,
    pub directory: Option<String>,
    pub revision: Option<String>,
    pub commit: Option<String>,
    pub parameters: BTreeMap<String, String>,
    /// The number of the side that it is compared with, from 0.
    pub compared_with: Option<u64>,
    pub is_control: bool,
}

/// A look at the data so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LookRecord {
    pub elapsed_s: f64,
    /// The part of the planned time that had passed.
    pub time_share: f64,
    pub blocks: u64,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRecord {
    pub block: u64,
    /// The number of the side, from 0.
    pub side: u64,
    pub exit_status: i32,
    /// The part of the CPUs' time that the hypervisor took while it ran; `null` where the time was too short for the
    /// kernel's account.
    pub steal_share: Option<f64>,
    /// The part of the CPUs' time that other programs used.
    pub others_share: Option<f64>,
    /// Whether an SMT sibling shared the core of the thread that started it, before it and after it; `null` where the
    /// probes do not agree, or there are none.
    pub core_shared: Option<bool>,
    pub is_disturbed: bool,
}

/// The treatment of disturbed runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DisturbedRuns {
    /// use them as all others
    Use,
    /// omit their whole blocks
    Omit,
}

/// Why the comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// Each verdict was known.
    Decided,
    Budget,
    Runs,
    Interrupted,
    Failed,
}

/// The waits of a side in one traced run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedSide {
    pub side: String,
    /// The time of all its threads together.
    pub thread_time_s: f64,
    pub locks: Vec<WatchedLock>,
}

/// The waits for one lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedLock {
    pub lock: String,
    pub acquisitions: u64,
    pub contended: u64,
    pub wait_total_s: f64,
    /// The part of the threads' time that was waited for it.
    pub wait_share: f64,
}

impl Verdict {
    pub fn label(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifferenceShown => "no difference shown",
            Self::NotJudged => "not judged",
            Self::LessThanLeast => "less than least",
        }
    }

    /// Returns whether a difference is shown that matters.
    pub fn is_difference(self) -> bool {
        !matches!(self, Self::NoDifferenceShown | Self::NotJudged | Self::LessThanLeast)
    }

    pub fn is_worse(self) -> bool {
        matches!(self, Self::Slower | Self::Worse)
    }
}

impl AbRow {
    /// Returns whether it is one of those that others are compared with, or is compared itself.
    pub fn is_judged(&self) -> bool {
        !EXPLAINING.contains(&self.metric.as_str())
    }

    /// Returns the verdict that agrees with the interval: older records have `no_difference_shown` where none was judged.
    pub fn agreed_verdict(&self) -> Option<Verdict> {
        let is_open = self.ratio_ci.is_some_and(|ends| ends.contains(1.0));
        let is_contradicted = |verdict: &Verdict| *verdict == Verdict::NoDifferenceShown && !is_open;
        self.verdict.map(|verdict| if is_contradicted(&verdict) { Verdict::NotJudged } else { verdict })
    }

    /// Returns the verdict for people. Only the metric that decides is faster or slower: more CPU time, memory or wall time
    /// may be the price of more work.
    pub fn verdict_words(&self) -> Option<String> {
        let verdict = self.agreed_verdict()?;
        let pair = match self.metric.as_str() {
            "cpu_s" | "memory_kib" => ["more", "less"],
            "wall_s" => ["longer", "shorter"],
            _ => [verdict.label(); 2],
        };
        Some(match verdict {
            Verdict::NotJudged => not_judged(self.missing_runs),
            _ if self.is_decisive || !verdict.is_difference() => verdict.label().to_owned(),
            _ => pair[usize::from(!verdict.is_worse())].to_owned(),
        })
    }

    /// Returns the unit in which people read the metric, and the factor to it.
    pub fn unit(&self) -> (Unit, f64) {
        if self.metric.ends_with("_s") { (Unit::Ns, 1e9) } else { (Unit::Number, 1.0) }
    }

    /// Returns a value of the metric for people.
    pub fn words(&self, value: f64) -> String {
        self.words_with(value, None)
    }

    /// Returns a value with its interval.
    pub fn words_with(&self, value: f64, interval: Option<Interval>) -> String {
        let (unit, factor) = self.unit();
        if self.metric == "memory_kib" {
            return format!("{} KiB", Unit::Number.words_with(value.round(), interval));
        }
        unit.words_with(value * factor, interval.map(|ends| ends.scaled(factor)))
    }

    /// Returns the interval of the ratio as text: ` (95 % CI 1.05–1.09)`.
    pub fn ratio_ends(&self) -> String {
        self.ratio_ci.map_or_else(String::new, |ends| format!(" (95 % CI {})", times_range(ends)))
    }

    /// Returns the change as text: `wall time 1.07× (95 % CI 1.05–1.09)`.
    pub fn change(&self) -> String {
        let ends = self.ratio_ends();
        let ratio = self.ratio.map_or_else(|| "unknown".to_owned(), times);
        format!("{} {ratio}{ends}", metric_words(&self.metric))
    }

    /// Returns, as text like `2.1 %`, the difference that most comparisons of this length would have found.
    pub fn power_words(&self) -> Option<String> {
        self.power.map(percent)
    }
}

/// Metrics that are not judged.
pub const EXPLAINING: [&str; 4] = ["user_s", "system_s", "context_switches", "page_faults"];

/// Returns the name of a metric for people.
pub fn metric_words(metric: &str) -> &str {
    match metric {
        "wall_s" => "wall time",
        "cpu_s" => "CPU time",
        "user_s" => "user CPU time",
        "system_s" => "system CPU time",
        "memory_kib" => "peak memory",
        "context_switches" => "context switches",
        "page_faults" => "page faults",
        name => name,
    }
}

/// Formats a ratio as `1.019×`: small differences need a digit more than other ratios.
pub fn times(value: f64) -> String {
    if (0.5..2.0).contains(&value) { format!("{value:.3}×") } else { terminal::ratio(value) }
}

/// Formats an interval of ratios as `1.012–1.026`.
pub fn times_range(ends: Interval) -> String {
    if ends.low >= 0.5 && ends.high < 2.0 {
        format!("{:.3}–{:.3}", ends.low, ends.high)
    } else {
        terminal::range(ends.low, ends.high)
    }
}

/// Returns the ratio of the CPU time for the same work, with the name of the decisive metric if that shows the work: both
/// sides run equally long, and a higher value is better.
pub fn per_work<'a>(cpu: &AbRow, rows: &'a [AbRow]) -> Option<(&'a str, f64)> {
    const SAME: std::ops::Range<f64> = 0.95..1.05;
    let of_side = |row: &&AbRow| row.side == cpu.side;
    let decisive = rows.iter().filter(of_side).find(|row| row.is_decisive && row.higher_is_better)?;
    let wall = rows.iter().filter(of_side).find(|row| row.metric == "wall_s")?;
    SAME.contains(&wall.ratio?).then_some((&*decisive.metric, cpu.ratio? / decisive.ratio?))
}

/// Returns whether a row has the CPU time of more work, and not of more expensive work: that is not a change for the worse.
pub fn is_price_of_work(row: &AbRow, rows: &[AbRow]) -> bool {
    row.metric == "cpu_s" && per_work(row, rows).is_some_and(|(_, ratio)| ratio <= 1.0)
}
