//! The record: a row for each scenario or remedy, with the table of 1999.
//!
//! Jean-Baptiste Queru, "The Scheduler Is Your Friend", Be Newsletter 4-45, 10 November 1999. There was a test program
//! at priority 20, an annoying one at 10, a rescheduler that slept 125 µs at a time; 256 million samples on one CPU, on
//! a bare system and on one with all its services and a dozen applications.

use super::by_us::UsCount;
use super::cause_sums::Part;
use super::cells::Scenario;
use super::plan::Parameters;
use harness::StoryPart;
use instruments::clock::Clock;
use instruments::evidence::{Cause, EvidenceQuality, Kind, Source};
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use record::{Metric, RecordRef, VariationSource};
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type NoiseRecord<'a> = RecordRef<'a, Parameters, Row>;

/// A configuration.
///
/// Values that were not measured are `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The name: quiet, competitor, competitor and rescheduler, rescheduler; or that of a remedy.
    pub scenario: String,
    /// The CPU of the sampling thread.
    pub cpu: usize,
    /// The number of readings of the clock, in all repetitions.
    pub samples: u64,
    /// The time in which the clock was read.
    pub span_s: f64,
    /// The length of an undisturbed iteration of the sampling loop, in the measurement itself.
    pub loop_ns: f64,
    /// The length in short repetitions, interleaved with those of a loop that only reads the clock, …
    pub loop_check_ns: f64,
    /// … and the length of that loop.
    pub bare_loop_ns: f64,
    /// The difference of two readings above which it is a gap: the highest of all repetitions, …
    pub threshold_ns: f64,
    /// … and the lowest.
    pub least_threshold_ns: f64,
    pub gaps: u64,
    pub gaps_per_s: f64,
    /// The number of gaps of more than 256 µs, in all repetitions.
    pub over_256us: u64,
    /// The numbers of gaps longer than 1, 10 and 100 µs and 1 ms, in all repetitions; older records lack them.
    #[serde(default)]
    pub over_1us: Option<u64>,
    #[serde(default)]
    pub over_10us: Option<u64>,
    #[serde(default)]
    pub over_100us: Option<u64>,
    #[serde(default)]
    pub over_1ms: Option<u64>,
    /// The gaps that this CPU shared with others, if several CPUs were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// The share lost in each of at most 60 equal pieces of the planned time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_by_time: Vec<f64>,
    /// The gap at which `--stop-above` ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<LongGap>,
    /// The role of the CPU: isolated, nohz_full, housekeeping, and the number of interrupts that it may receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The number of interrupts that may be routed to the CPU; `null` where it is unknown, as in older records.
    #[serde(default)]
    pub irqs: Option<usize>,
    /// The longest gap of all repetitions.
    pub longest_us: f64,
    /// The longest gap of a repetition: the median of the repetitions, and its 95 % interval where there are enough of
    /// them.
    pub longest_p50_us: f64,
    pub longest_ci_us: Option<Interval>,
    pub median_gap_us: Option<f64>,
    pub p99_gap_us: Option<f64>,
    /// `null` for fewer than 1,000 gaps, …
    #[serde(default)]
    pub p999_gap_us: Option<f64>,
    /// … and fewer than 10,000.
    #[serde(default)]
    pub p9999_gap_us: Option<f64>,
    /// The number of gaps by length, with `--histogram`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps_by_us: Vec<UsCount>,
    /// The share of the sampling time that the gaps took.
    pub lost_share: f64,
    /// The 95 % confidence interval of that share; in records of older versions that of the median repetition.
    pub lost_ci_share: Option<Interval>,
    /// The share of a probe's readings that found the core shared with an SMT sibling; `null` without a probe.
    #[serde(default)]
    pub core_shared_share: Option<f64>,
    /// Its 95 % interval, by the scatter between stretches of the run; `null` where these are too few, or where all or
    /// none of the readings found it shared.
    #[serde(default)]
    pub core_shared_share_ci: Option<Interval>,
    /// The share that the sibling took of the speed of code that is limited by the core's width, while the sampling
    /// thread had the CPU.
    #[serde(default)]
    pub width_lost_share: Option<f64>,
    /// Time within the repetitions without sampling: the kernel trace was read, or the core was probed.
    ///
    /// No share includes it.
    pub unwatched_s: f64,
    pub turns: Vec<Turn>,
    /// The causes of the gaps, the largest share of their time first; the shares add up to 1.
    pub causes: Vec<CauseRow>,
    /// The longest gaps of all repetitions, at most a hundred, the longest first; older records lack them.
    #[serde(default)]
    pub longest_gaps: Vec<LongGap>,
    /// The share of the gaps' time that has evidence from the kernel.
    pub explained_share: Option<f64>,
    /// The share, counting periodic time without evidence as well.
    pub explained_or_periodic_share: Option<f64>,
    /// The evidence source.
    pub evidence: Source,
    /// The coverage of the evidence.
    pub ledger: Option<EvidenceQuality>,
    /// The switches and interrupts that the kernel recorded while the sampling thread had the CPU: those inside a gap, …
    pub events_in_gaps: u64,
    /// … and those outside.
    pub events_outside_gaps: u64,
    /// The number of gaps in which the kernel reports that it preempted the sampling thread (rseq); `null` where it
    /// does not report it.
    pub preempted_gaps: Option<u64>,
    /// The time in which the scheduler gives each competitor one time slice: in a shorter repetition it may not run at
    /// all.
    ///
    /// Older records do not have it.
    #[serde(default)]
    pub competitor_slice_every_s: Option<f64>,
    /// The longest part of a gap that a competitor took, in all repetitions; `null` where the kernel trace does not
    /// name it.
    #[serde(default)]
    pub competitor_longest_us: Option<f64>,
    /// The longest part in a repetition: the median of the repetitions, and its 95 % interval where there are enough of
    /// them.
    #[serde(default)]
    pub competitor_longest_p50_us: Option<f64>,
    #[serde(default)]
    pub competitor_longest_ci_us: Option<Interval>,
    /// The CPU time of all competitors, as a share of one CPU.
    pub competitors_cpu_share: Option<f64>,
    /// The CPU time of the rescheduler, as a share of one CPU; `lost_share` includes the further cost of its wake-ups.
    pub rescheduler_cpu_share: Option<f64>,
    pub rescheduler_wakes_per_s: Option<f64>,
    /// The values of 1999 for the scenario, on one CPU, for 256 million samples; `null` where the weights or the
    /// rescheduler are not those of its test.
    pub then: Option<Figures>,
}

impl Row {
    /// Returns the share of the CPU time that was lost.
    ///
    /// Older records have the interval of the median repetition instead, which is omitted where the share is outside.
    pub fn lost(&self) -> Estimate {
        Estimate::new(self.lost_share, self.lost_ci_share.filter(|ends| ends.contains(self.lost_share)))
    }

    /// Returns the name of the configuration.
    pub fn name(&self) -> String {
        format!("{}, CPU {}", self.scenario, self.cpu)
    }
}

/// Returns a metric of the far end of a distribution: without an interval, only other runs of the same show its scatter.
pub fn far_end(metric: Metric) -> Metric {
    let variation = if metric.interval.is_some() { VariationSource::Others } else { VariationSource::Rare };
    Metric { variation, ..metric }
}

/// The gaps of a CPU that began at the same moment as one on another CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Together {
    /// The number of gaps of 1 µs and more while all CPUs were sampled, the longest 10,000 to 20,000 of a long run.
    pub gaps: usize,
    /// The number of those that began within the window of one on another CPU, …
    pub together: usize,
    /// … the number when the CPUs' times are shifted against each other instead, …
    pub by_chance: f64,
    /// … and its standard deviation.
    pub by_chance_deviation: f64,
    /// Whether they exceed the number by chance by five standard deviations.
    pub is_common: bool,
    pub window_us: f64,
}

/// One repetition of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    pub span_s: f64,
    pub samples: u64,
    pub gaps: u64,
    pub over_256us: u64,
    pub longest_us: f64,
    /// The longest part of a gap that a competitor took; `null` where the kernel trace does not name it.
    #[serde(default)]
    pub competitor_longest_us: Option<f64>,
    pub lost_share: f64,
    pub unwatched_s: f64,
}

/// One gap, and its main cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongGap {
    /// The time since the run began: all scenarios are on one axis.
    pub start_s: f64,
    pub length_us: f64,
    #[serde(flatten)]
    pub cause: Cause,
    /// The cause's part of the gap.
    pub cause_us: f64,
    /// The event timeline of the longest gap, from a little before it until its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<StoryPart>,
}

/// A line of a live run: one piece of a repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line {
    /// The time since the run began.
    pub time_s: f64,
    pub scenario: String,
    pub span_s: f64,
    pub samples: u64,
    pub gaps: u64,
    pub over_256us: u64,
    pub longest_us: f64,
    pub lost_share: f64,
    /// The causes, the largest first.
    pub causes: Vec<CauseRow>,
}

/// The time of one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseRow {
    pub kind: Kind,
    /// The name of the task, interrupt or softirq.
    pub name: Option<String>,
    /// The process ID of the task.
    pub pid: Option<u32>,
    /// The period of its gaps, if the period is the only evidence.
    pub period_us: Option<f64>,
    /// An upper bound of the length of its gaps, below any visit to the kernel.
    pub below_us: Option<f64>,
    /// The number of gaps that it had a part in.
    pub count: u64,
    pub total_us: f64,
    /// Its longest part of one gap; in a live line, since the run began.
    pub longest_us: f64,
    /// The share of the time of all gaps.
    pub share: f64,
}

impl CauseRow {
    /// Returns the cause without its sums.
    pub fn cause(&self) -> Cause {
        Cause { kind: self.kind, name: self.name.clone(), pid: self.pid }
    }

    /// Creates the row of a cause and its time; the caller sets its share.
    pub fn of(cause: &Cause, part: &Part, clock: Clock) -> Self {
        Self {
            kind: cause.kind,
            name: cause.name.clone(),
            pid: cause.pid,
            period_us: None,
            below_us: None,
            count: part.count,
            total_us: clock.to_ns(part.ticks) / 1e3,
            longest_us: clock.to_ns(part.longest) / 1e3,
            share: 0.0,
        }
    }

    /// Returns the cause in words: `task competitor (4711)`, `interrupt local_timer`.
    pub fn label(&self) -> String {
        let cause = self.cause();
        let pid = self.pid.iter().map(|pid| format!(" ({pid})"));
        let below = self.below_us.iter().map(|us| format!(", under {}", terminal::nanoseconds(us * 1e3)));
        let period = self.period_us.iter().map(|us| format!(", every {}", terminal::nanoseconds(us * 1e3)));
        std::iter::once(harness::label(&cause)).chain(pid).chain(below).chain(period).collect()
    }
}

/// The number of interruptions of the test program above 256 µs, and the longest time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    pub bare_over_256us: u64,
    pub bare_longest_us: f64,
    pub normal_over_256us: u64,
    pub normal_longest_us: f64,
}

/// Returns the values of 1999 for a scenario; it had no rescheduler alone.
pub fn figures(scenario: Scenario) -> Option<Figures> {
    let figures = |bare: (u64, f64), normal: (u64, f64)| Figures {
        bare_over_256us: bare.0,
        bare_longest_us: bare.1,
        normal_over_256us: normal.0,
        normal_longest_us: normal.1,
    };
    match scenario {
        Scenario::Quiet => Some(figures((35, 3060.0), (702, 4776.0))),
        Scenario::Competitor => Some(figures((136, 3219.0), (1139, 6127.0))),
        Scenario::Both => Some(figures((365, 459.0), (2970, 838.0))),
        Scenario::Rescheduler => None,
    }
}
