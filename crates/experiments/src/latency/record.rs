//! The results: a row for each thread and operation of a cell.

use super::plan::{CellPlan, Parameters};
use instruments::evidence::{EvidenceQuality, Source};
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::stopping::EndedBy;
use record::{Bin, Estimates, RecordRef, Unit};
use serde::{Deserialize, Serialize};
use terminal::nanoseconds;

/// A record of this experiment.
pub type LatencyRecord<'a> = RecordRef<'a, Parameters, Row>;

/// The operation that was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Acquiring the lock.
    Lock,
    /// Releasing the lock, from the end of the hold time.
    Unlock,
    /// Lock, hold time and unlock together.
    RoundTrip,
}

impl Operation {
    pub const ALL: [Self; 3] = [Self::Lock, Self::Unlock, Self::RoundTrip];

    /// Returns the noun for headings.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Lock => "locking",
            Self::Unlock => "unlocking",
            Self::RoundTrip => "round trip",
        }
    }
}

/// The latencies of one operation of one thread of one cell.
///
/// Times are net of the cost of recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub lock: String,
    /// The number of threads that contended for the lock.
    pub threads: usize,
    /// The number of threads that only competed for the CPU.
    pub competitors: usize,
    /// The placement: `one-cpu`, `spread` or a list of CPUs.
    pub placement: String,
    pub hold_us: f64,
    /// The index of the thread, from 0.
    pub thread: usize,
    /// The CPU that it was pinned to.
    pub cpu: usize,
    pub operation: Operation,
    /// The number of iterations in the values.
    pub count: u64,
    /// The number of iterations that are in none, since the probe of another thread's core took more than a twentieth
    /// of them.
    #[serde(default)]
    pub excluded_count: u64,
    /// The extremes, the quantiles and the mean; `null` below the least known value: quantiles below the clock's step,
    /// all of them below `accuracy_ns`.
    pub min_ns: Option<f64>,
    pub p50_ns: Option<f64>,
    pub p90_ns: Option<f64>,
    pub p99_ns: Option<f64>,
    pub p999_ns: Option<f64>,
    pub max_ns: Option<f64>,
    pub mean_ns: Option<f64>,
    /// The mean of the undisturbed iterations: the median of the windows' means, with its 95 % interval.
    ///
    /// For a single thread it is the time of an uncontended lock.
    #[serde(default)]
    pub undisturbed_mean_ns: Option<f64>,
    #[serde(default)]
    pub undisturbed_mean_ci_ns: Option<Interval>,
    /// The 95 % intervals over the windows, and one more step of the clock at either end; `null` where there are too
    /// few iterations for one.
    pub p50_ci_ns: Option<Interval>,
    pub p90_ci_ns: Option<Interval>,
    pub p99_ci_ns: Option<Interval>,
    pub p999_ci_ns: Option<Interval>,
    #[serde(flatten)]
    pub neighbour: Neighbour,
    pub spikes: Vec<SpikeRow>,
    /// The share of iterations that belong to no spike.
    pub leftover_share: f64,
    pub histogram: Vec<Bin>,
    /// The reason for the end of the cell.
    pub ended_by: EndedBy,
    /// The number of windows in which it was measured, interleaved with the other cells.
    pub slices: u64,
    /// The number of further windows, which have evidence and are in none of the values above.
    #[serde(rename = "witnessed_slices")]
    pub recorded_slices: u64,
    /// The evidence source.
    pub evidence: Source,
    /// The coverage of the evidence of the cell.
    pub ledger: Option<EvidenceQuality>,
    /// The resolution of a single latency: the clock's step; in older records, for unlocking, the scatter of the hold
    /// time if that was more.
    pub resolution_ns: f64,
    /// The least known value, below which none is given.
    ///
    /// It is three times the reading of the same loop without a lock, at the far end of its interval, or the error of
    /// reading a known time, if that is more.
    ///
    /// `null` in older records.
    #[serde(default)]
    pub accuracy_ns: Option<f64>,
    /// The reading of the loop without a lock: 0, if the measurement had no error.
    #[serde(default)]
    pub residue_ns: Option<f64>,
    /// The reading of the loop with a chain of multiplications in the place of the lock, and the time of that chain
    /// alone.
    #[serde(default)]
    pub control_ns: Option<f64>,
    #[serde(default)]
    pub control_known_ns: Option<f64>,
    /// The hold time of the lock: the median of the windows' means.
    #[serde(default)]
    pub held_us: Option<f64>,
    /// The time of a lock and an unlock of this lock in a bare, uncontended loop, 500 pairs between two timestamps: the
    /// median of batches before each window.
    pub bare_pair_ns: Option<f64>,
    pub bare_pair_ci_ns: Option<Interval>,
    /// The time with a timestamp behind each operation, less that of the timestamps without a lock: where nothing
    /// overlaps.
    ///
    /// The means of single locks and unlocks add up to it.
    #[serde(default)]
    pub fenced_pair_ns: Option<f64>,
    #[serde(default)]
    pub fenced_pair_ci_ns: Option<Interval>,
    /// The critical sections of all threads of a user-supplied lock, in all windows, and those that began before another
    /// thread's had ended: a lock with one does not exclude. Absent for other locks, and for one thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections_total: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlaps_total: Option<u64>,
    /// The cost of one timestamp.
    pub clock_cost_ns: f64,
    /// The cost of recording an iteration, both timestamps included; it is already subtracted.
    pub recording_ns: f64,
}

/// The values of a row for the time with the core exclusive, and for that in which an SMT sibling used part of it;
/// `null` without probes, or where that was too rare.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Neighbour {
    /// The share of the parts of windows with an active SMT sibling, among those that were clearly exclusive or shared.
    pub core_shared_share: Option<f64>,
    /// The rank correlation between the bare pair's time before a window and the sharing of the core, from -1 to 1.
    pub core_correlation: Option<f64>,
    pub undisturbed_mean_ns_alone: Option<f64>,
    pub undisturbed_mean_ci_ns_alone: Option<Interval>,
    pub undisturbed_mean_ns_shared: Option<f64>,
    pub undisturbed_mean_ci_ns_shared: Option<Interval>,
    pub p50_ns_alone: Option<f64>,
    pub p50_ci_ns_alone: Option<Interval>,
    pub p50_ns_shared: Option<f64>,
    pub p50_ci_ns_shared: Option<Interval>,
    pub p99_ns_alone: Option<f64>,
    pub p99_ci_ns_alone: Option<Interval>,
    pub p999_ns_alone: Option<f64>,
    pub p999_ci_ns_alone: Option<Interval>,
    pub bare_pair_ns_alone: Option<f64>,
    pub bare_pair_ci_ns_alone: Option<Interval>,
    pub fenced_pair_ns_alone: Option<f64>,
    pub fenced_pair_ci_ns_alone: Option<Interval>,
}

/// A cluster of latencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpikeRow {
    /// The letter; `A` has the largest share.
    pub label: String,
    /// The share of all iterations, 0 to 1.
    pub share: f64,
    pub count: u64,
    /// The mean and the range; `null` below the least known value.
    pub mean_ns: Option<f64>,
    pub median_ns: Option<f64>,
    pub median_ci_ns: Option<Interval>,
    pub from_ns: f64,
    pub to_ns: f64,
    /// The spike that this one repeats after a constant delay.
    pub echo_of: Option<String>,
    pub delay_ns: Option<f64>,
    /// The main cause of its excess time, by the threads' own timestamps and the kernel trace: uncontended, waited for
    /// the holder, switched out to a task, an interrupt, …; without evidence it is unexplained.
    pub cause: String,
    /// The cause's share of the excess time; `null` where there is none, or no evidence.
    pub cause_share: Option<f64>,
    /// The share of iterations with evidence for this cause, among those in windows with evidence; `null` without such
    /// iterations.
    pub evidence_share: Option<f64>,
    /// The median of those iterations: it shows the effect of recording the evidence.
    pub median_with_evidence_ns: Option<f64>,
}

impl Row {
    /// Returns the least known value of single latencies and quantiles.
    pub fn least_ns(&self) -> f64 {
        self.resolution_ns.max(self.accuracy_ns.unwrap_or(0.0))
    }

    /// Returns a quantile, or a spike's median, as far as it is known; older records have some that are not.
    pub fn known(&self, quantile_ns: Option<f64>) -> Option<f64> {
        quantile_ns.filter(|ns| *ns >= self.least_ns())
    }

    /// Returns the known quantile, with its interval.
    pub fn estimate(&self, quantile_ns: Option<f64>, interval: Option<Interval>) -> Option<Estimate> {
        let value = self.known(quantile_ns)?;
        Some(Estimate { value, interval, resolution: self.resolution_ns })
    }

    /// Writes the value; an unknown one is less than the least known value.
    pub fn words(&self, quantile_ns: Option<f64>) -> String {
        match self.known(quantile_ns) {
            Some(ns) => nanoseconds(ns),
            None => format!("< {}", nanoseconds(self.least_ns())),
        }
    }

    /// Writes the value with its interval; an unknown end is less than the least known value.
    pub fn words_with(&self, quantile_ns: Option<f64>, interval: Option<Interval>) -> String {
        let is_open = |ends: &Interval| self.known(Some(ends.low)).is_none();
        match (self.known(quantile_ns), interval) {
            (Some(ns), Some(ends)) if is_open(&ends) => {
                format!("{} ({}–{})", nanoseconds(ns), self.words(None), nanoseconds(ends.high))
            }
            (Some(ns), interval) => Unit::Ns.words_with(ns, interval),
            (None, _) => self.words(None),
        }
    }

    /// Returns the mean of undisturbed iterations, as far as it is known.
    pub fn undisturbed(&self) -> Estimates {
        let (neighbour, least) = (&self.neighbour, self.accuracy_ns);
        let known = self.undisturbed_mean_ns.filter(|ns| least.is_some_and(|least| *ns >= least));
        Estimates::new(
            (known, self.undisturbed_mean_ci_ns),
            (neighbour.undisturbed_mean_ns_alone, neighbour.undisturbed_mean_ci_ns_alone),
            (neighbour.undisturbed_mean_ns_shared, neighbour.undisturbed_mean_ci_ns_shared),
        )
    }

    /// Returns the mean of undisturbed iterations by itself: with the core exclusive, where that is known.
    pub fn undisturbed_mean(&self) -> Option<Estimate> {
        self.undisturbed().single()
    }

    /// Returns the median.
    pub fn medians(&self) -> Estimates {
        let neighbour = &self.neighbour;
        Estimates::new(
            (self.known(self.p50_ns), self.p50_ci_ns),
            (neighbour.p50_ns_alone, neighbour.p50_ci_ns_alone),
            (neighbour.p50_ns_shared, neighbour.p50_ci_ns_shared),
        )
    }

    /// Returns a lock and an unlock in a bare loop.
    pub fn bare_pair(&self) -> Estimates {
        let alone = (self.neighbour.bare_pair_ns_alone, self.neighbour.bare_pair_ci_ns_alone);
        Estimates::new((self.bare_pair_ns, self.bare_pair_ci_ns), alone, (None, None))
    }

    /// Writes the mean of undisturbed iterations.
    pub fn words_of_mean(&self) -> String {
        match self.undisturbed_mean() {
            Some(mean) => nanoseconds(mean.value),
            None if self.accuracy_ns.is_some() => format!("< {}", nanoseconds(self.accuracy_ns.unwrap_or(0.0))),
            None => self.words(self.p50_ns),
        }
    }

    /// Returns a lock and an unlock with fences that let nothing overlap; not measured in older records.
    pub fn fenced_pair(&self) -> Estimates {
        let alone = (self.neighbour.fenced_pair_ns_alone, self.neighbour.fenced_pair_ci_ns_alone);
        Estimates::new((self.fenced_pair_ns, self.fenced_pair_ci_ns), alone, (None, None))
    }

    /// Returns the configuration that the row belongs to.
    pub fn cell(&self) -> CellPlan {
        CellPlan { lock: self.lock.clone(), threads: self.threads, competitors: self.competitors }
    }

    /// Returns the contest of the row: locks under the same conditions are ranked.
    ///
    /// The placement matters from two threads on.
    pub fn contest(&self) -> String {
        let is_lone = self.threads + self.competitors == 1;
        let placement = if is_lone { String::new() } else { format!(", {}", self.placement) };
        self.cell().conditions() + &placement
    }

    /// Returns the name of the configuration, with the placement.
    pub fn name(&self) -> String {
        format!("{}, {}", self.lock, self.contest())
    }

    /// Returns the first letter of the spike that a bin belongs to: among those that overlap it, the one with most
    /// iterations.
    pub fn letter_of(&self, bin: &Bin) -> Option<char> {
        let overlaps = |spike: &&SpikeRow| spike.from_ns < bin.to_ns && bin.from_ns <= spike.to_ns;
        self.spikes.iter().filter(overlaps).max_by_key(|spike| spike.count).and_then(|spike| spike.label.chars().next())
    }
}
