//! The results: a row for the clock, one for each CPU compared, the busy loop, its checks, the curve, the losses.

use super::plan::Parameters;
use instruments::clock::Source;
use instruments::statistics::Interval;
use record::RecordRef;
use serde::{Deserialize, Serialize};
use terminal::nanoseconds;

/// A record of this experiment.
pub type ClockRecord<'a> = RecordRef<'a, Parameters, Row>;

/// A row, distinguished by its field `measurement`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "measurement", rename_all = "snake_case")]
pub enum Row {
    Clock(ClockRow),
    Agreement(AgreementRow),
    Grind(GrindRow),
    GrindCheck(CheckRow),
    Slice(SliceRow),
    Losses(LossesRow),
    PeriodicLoss(PeriodicLossRow),
}

/// The clock itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockRow {
    pub source: Source,
    /// The reason why the CPU's counter was not used, if it was not.
    pub fallback: Option<Box<str>>,
    pub cpu: usize,
    pub frequency_mhz: f64,
    /// The step in which it advances; `null` where reads did not resolve it.
    pub resolution_ns: Option<f64>,
    /// The mean of 1,000 calls, as the median of 200 such thousands.
    pub read_cost_ns: f64,
    pub read_least_ns: f64,
    pub read_p50_ns: f64,
    pub read_p99_ns: f64,
    pub read_max_ns: f64,
    /// The cost of a read that is ordered with the instructions around it.
    pub ordered_read_cost_ns: f64,
    pub ordered_read_least_ns: f64,
    pub ordered_read_p50_ns: f64,
    pub ordered_read_p99_ns: f64,
    pub ordered_read_max_ns: f64,
    pub reads_count: u64,
    /// The share of the reads, over the whole run, during which the core was shared with an SMT sibling; `null` without
    /// probing.
    #[serde(default)]
    pub core_shared_share: Option<f64>,
    /// The rank correlation between the time of such a thousand and the sharing of the core, from -1 to 1.
    #[serde(default)]
    pub core_correlation: Option<f64>,
    /// The median of the thousands with the core exclusive, and of those with it shared.
    #[serde(default)]
    pub read_cost_ns_alone: Option<f64>,
    #[serde(default)]
    pub read_cost_ns_alone_ci: Option<Interval>,
    #[serde(default)]
    pub read_cost_ns_shared: Option<f64>,
    #[serde(default)]
    pub ordered_read_cost_ns_alone: Option<f64>,
    #[serde(default)]
    pub ordered_read_cost_ns_alone_ci: Option<Interval>,
    #[serde(default)]
    pub ordered_read_cost_ns_shared: Option<f64>,
    /// The number of adjacent reads that went backwards.
    pub backward_steps: u64,
    /// The distance of a third point from the calibration's line.
    pub residual_ns: f64,
    pub uncertainty_ppm: f64,
    /// The error of the conversion against `CLOCK_MONOTONIC_RAW` over `conversion_span_s`.
    pub conversion_error_ppm: f64,
    /// The uncertainty of that error; older records have none.
    #[serde(default)]
    pub conversion_uncertainty_ppm: Option<f64>,
    pub conversion_span_s: f64,
}

impl ClockRow {
    /// States the step in which it advances.
    pub fn step_words(&self) -> String {
        match self.resolution_ns {
            Some(step_ns) => format!("in steps of {}", nanoseconds(step_ns)),
            None => "in steps that its reads do not resolve".to_owned(),
        }
    }
}

/// The counter of one CPU compared with the first one's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgreementRow {
    pub cpu: usize,
    pub reference_cpu: usize,
    /// The ends of the interval that contains the offset.
    pub offset_low_ns: f64,
    pub offset_high_ns: f64,
    pub exchanges: u64,
    /// The number of exchanges in which time ran backwards between the CPUs.
    pub out_of_order: u64,
}

/// The calibrated busy loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrindRow {
    pub load_ns: f64,
    /// The load-to-use latency, by loads and cycles of the same moments; `null` where the length of a cycle is unknown,
    /// or where these differ by more than a fiftieth.
    pub load_cycles: Option<f64>,
    /// The core's clock rate while the busy loop was calibrated.
    pub core_mhz: Option<f64>,
    /// The cost of a run in addition to its loads.
    pub overhead_ns: f64,
    /// The end of the search: the first candidate above 800 µs.
    pub calibrated_loads: u64,
    pub calibrated_us: f64,
    pub candidates: usize,
}

/// A requested length, and the times of 100 runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckRow {
    #[serde(rename = "asked_us")]
    pub requested_us: f64,
    pub best_us: f64,
    pub median_us: f64,
    /// Whether the best run was within 1 % or 20 ns.
    pub holds: bool,
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SliceRow {
    pub slice_us: f64,
    pub runs: usize,
    /// The effective MHz of the best run.
    pub best_mhz: f64,
    pub median_mhz: f64,
    pub median_ci_mhz: Option<Interval>,
    /// The share of the runs with the core shared, among those whose probes agree; `null` without probing.
    #[serde(default)]
    pub core_shared_share: Option<f64>,
    /// The rank correlation between a run's speed and the sharing of the core, from -1 to 1.
    #[serde(default)]
    pub core_correlation: Option<f64>,
    /// The median of the runs with the core exclusive, and of those with it shared.
    #[serde(default)]
    pub median_mhz_alone: Option<f64>,
    #[serde(default)]
    pub median_mhz_alone_ci: Option<Interval>,
    #[serde(default)]
    pub median_mhz_shared: Option<f64>,
}

/// The time that a loop which only reads the clock lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossesRow {
    pub cpu: usize,
    pub watched_s: f64,
    /// The difference of two readings above which it is a gap.
    pub threshold_ns: f64,
    pub gaps: usize,
    pub lost_share: f64,
    pub longest_us: f64,
    /// The kernel's own tick rate, where its configuration is readable.
    pub kernel_hz: Option<u32>,
}

/// A periodic loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeriodicLossRow {
    pub period_us: f64,
    pub frequency_hz: f64,
    pub gaps: usize,
    pub median_gap_us: f64,
    /// The share of its beats at which a gap was seen.
    pub presence_share: f64,
    /// Whether it is the kernel's tick: the period within 1 % of 1/HZ that takes most.
    pub is_kernel_tick: bool,
    /// For the tick: the result of a plain fold of the same gaps at 1/HZ instead of the search, as a check of
    /// `median_gap_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded_gap_us: Option<f64>,
}

/// Defines a function that returns the rows of one kind.
macro_rules! rows_of {
    ($($name:ident: $variant:ident => $row:ty),*) => {
        $(pub fn $name(rows: &[Row]) -> Vec<&$row> {
            rows.iter().filter_map(|row| if let Row::$variant(found) = row { Some(found) } else { None }).collect()
        })*
    };
}

rows_of! {
    clocks: Clock => ClockRow,
    agreements: Agreement => AgreementRow,
    grinds: Grind => GrindRow,
    checks: GrindCheck => CheckRow,
    slices: Slice => SliceRow,
    losses: Losses => LossesRow,
    periodic_losses: PeriodicLoss => PeriodicLossRow
}
