//! What all rows of a cell share.

use super::cell::Cell;
use super::control::Control;
use super::to_nanoseconds::ToNanoseconds;
use crate::latency::plan::Plan;
use harness::Calibrated;
use instruments::evidence::{EvidenceQuality, Source};
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::median;
use instruments::statistics::stopping::EndedBy;
use std::time::Duration;

/// A pair comes of one loop; between fences it is the difference of two, with a lock and without.
pub const BARE_LOOPS: f64 = 1.0;
pub const FENCED_LOOPS: f64 = 2.0;

/// What all rows of a cell share.
pub struct Conditions {
    pub placement: String,
    pub hold_ns: f64,
    pub slices: u64,
    /// From its first slice to its last.
    pub span: Duration,
    pub recorded_slices: u64,
    pub evidence: Source,
    pub ledger: Option<EvidenceQuality>,
    pub ended_by: EndedBy,
    pub ns_per_tick: f64,
    /// The clock's step, in ticks.
    pub resolution: u64,
    pub held_us: Option<f64>,
    pub bare_pair: Option<Estimate>,
    pub fenced_pair: Option<Estimate>,
    pub clock_cost_ns: f64,
    pub recording_ns: f64,
    pub control: Option<Control>,
}

impl Conditions {
    pub fn of(
        plan: &Plan,
        cell: &Cell,
        ended_by: EndedBy,
        calibrated: &Calibrated,
        (recording_ns, control): (f64, Option<Control>),
        evidence: Source,
    ) -> Self {
        let (ns_per_tick, resolution) = (calibrated.clock().ns_per_tick(), calibrated.quality.resolution_ticks);
        let net = ToNanoseconds::new(resolution, ns_per_tick, 0.0);
        Self {
            placement: plan.placement.to_string(),
            hold_ns: plan.hold_ns,
            slices: cell.slices,
            span: cell.span(),
            recorded_slices: cell.recorded,
            evidence,
            ledger: cell.ledger.clone(),
            ended_by,
            held_us: held(cell).map(|ticks| ticks * ns_per_tick / 1e3),
            bare_pair: cell.pair(|pairs| pairs.bare).map(|pair| net.pair(pair, BARE_LOOPS)),
            fenced_pair: cell.pair(|pairs| pairs.fenced).map(|pair| net.pair(pair, FENCED_LOOPS)),
            ns_per_tick,
            resolution,
            clock_cost_ns: calibrated.quality.stamp.mean_of_1000_ns,
            recording_ns,
            control,
        }
    }

    /// For figures that are known from so many ticks on.
    pub fn to_nanoseconds(&self, least: Option<f64>) -> ToNanoseconds {
        ToNanoseconds::new(self.resolution, self.ns_per_tick, least.unwrap_or(0.0))
    }
}

/// The farthest from its mean of a cell's threads.
fn held(cell: &Cell) -> Option<f64> {
    let holds: Vec<f64> = cell.series.iter().filter_map(|series| median(&series.holds)).collect();
    let mean = holds.iter().sum::<f64>() / holds.len() as f64;
    holds.into_iter().max_by(|a, b| (a - mean).abs().total_cmp(&(b - mean).abs()))
}
