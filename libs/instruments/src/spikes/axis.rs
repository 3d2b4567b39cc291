//! The axis that latencies are laid on: linear near zero, logarithmic above.
use crate::tally::Tally;

/// How finely the log part is cut: a bin is 2.2 % wide.
const BINS_PER_OCTAVE: f64 = 32.0;

/// The edges of the bins.
///
/// No bin is narrower than the clock's step, or empty bins between two neighbouring steps would look like valleys.
/// Every bin holds a whole number of steps, or bins that hold two would alternate with bins that hold one.
pub(super) struct Axis {
    /// Bin `i` reaches from `edges[i]` to below `edges[i + 1]`.
    edges: Vec<f64>,
    /// By how much each bin is wider or narrower than the axis would have it without whole steps.
    exposures: Vec<f64>,
}

/// A bin with what fell into it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bin {
    /// How many latencies.
    pub count: u64,
    /// The bin's width on the axis: 1, but for rounding to whole steps.
    pub exposure: f64,
    /// The lower edge, in the unit of the latencies.
    pub start: f64,
    /// The smallest latency seen in it; 0 when there was none.
    pub from: u64,
    /// The largest latency seen in it; 0 when there was none.
    pub to: u64,
}

impl Axis {
    /// The axis over all that `tally` has seen; `None` for nothing.
    pub fn of(tally: &Tally, step: f64) -> Option<Self> {
        let (min, max) = (tally.min()? as f64, tally.max()? as f64);
        // The steps are counted from the most frequent value, in the middle of its step: a clock that is rounded to
        // whole ticks may be a little off on either side.
        let (anchor, _) = tally.iter().max_by_key(|&(_, count)| count)?;
        let origin = anchor as f64 - step / 2.0;
        let growth = (1.0 / BINS_PER_OCTAVE).exp2() - 1.0;
        let mut edge = origin + ((min - origin) / step).floor() * step;
        let mut axis = Self { edges: vec![edge], exposures: Vec::new() };
        while edge <= max {
            let ideal = step.max(edge * growth);
            let width = (ideal / step).round() * step;
            // Where the numbers are so large that a step vanishes in rounding, one bin takes the rest.
            let next = if edge + width > edge { edge + width } else { f64::INFINITY };
            axis.exposures.push(width / ideal);
            axis.edges.push(next);
            edge = next;
        }
        Some(axis)
    }

    /// Counts the latencies into the bins.
    pub fn fill(&self, tally: &Tally) -> Vec<Bin> {
        let empty = |(&start, &exposure)| Bin { count: 0, exposure, start, from: 0, to: 0 };
        let mut bins: Vec<Bin> = self.edges.iter().zip(&self.exposures).map(empty).collect();
        let mut index = 0;
        for (value, count) in tally.iter() {
            while index + 1 < bins.len() && value as f64 >= self.edges[index + 1] {
                index += 1;
            }
            let bin = &mut bins[index];
            if bin.count == 0 {
                bin.from = value;
            }
            bin.to = value;
            bin.count = bin.count.saturating_add(count);
        }
        bins
    }
}
