//! Latencies of one operation, slice by slice.
//!
//! A latency below the clock's resolution can come out a little below zero, so every tally has an offset added, which
//! its reader takes off again.

use super::baseline::undisturbed_mean;
use super::causes::Causes;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::slices::Slices;
use instruments::statistics::summary::CONFIDENCE;
use instruments::statistics::{Interval, Summary, Thinned};
use instruments::tally::Tally;
use std::time::Duration;

/// Added to every latency: no baseline is more, so nothing comes out below zero.
pub const OFFSET: u64 = 1 << 12;

/// For about so long a machine stays as it is: who shares its cores, and what else runs.
const MOOD: Duration = Duration::from_secs(1);

/// Latencies of one operation, each with [`OFFSET`] added.
#[derive(Clone, Debug, Default)]
pub struct OffsetTally {
    pub slices: Slices,
    /// Of each slice, the mean of the rounds that nothing disturbed; without the offset.
    pub means: Thinned<f64>,
    /// Rounds that are in no figure, since another thread probed its core during them.
    pub excluded: u64,
    /// What slices with evidence know of the causes; their latencies are in no figure.
    pub causes: Causes,
}

impl OffsetTally {
    pub fn tally(&self) -> &Tally {
        self.slices.all()
    }

    /// The 95 % interval of a quantile over the slices, with the offset.
    pub fn interval(&self, q: f64) -> Option<Interval> {
        self.slices.interval(q, CONFIDENCE)
    }

    /// The same of a tail quantile, of a run so long.
    pub fn tail_interval(&self, q: f64, span: Duration) -> Option<Interval> {
        self.slices.tail_interval(q, CONFIDENCE, span.as_secs_f64() / MOOD.as_secs_f64())
    }

    /// The median of the slices' undisturbed means, and its interval.
    pub fn mean(&self) -> Option<(f64, Option<Interval>)> {
        Some((median(&self.means)?, sample_quantile_interval(&self.means, 0.5, CONFIDENCE)))
    }

    /// The figures that decide whether these are known well enough, in ticks; an interval within `narrow` is.
    pub fn figures(&self, narrow: u64) -> [Estimate; 2] {
        let summary = Summary::of(self.tally());
        let by = OFFSET as f64;
        let figure = |value: Option<f64>, interval: Option<Interval>| Estimate {
            value: value.map_or(0.0, |value| value - by),
            interval: interval.map(|ends| Interval::new(ends.low - by, ends.high - by)),
            resolution: narrow as f64,
        };
        [
            figure(summary.as_ref().map(|known| known.p50), self.interval(0.5)),
            figure(summary.as_ref().map(|known| known.p999), self.interval(0.999)),
        ]
    }

    /// Adds a slice: in parts that have a baseline each.
    pub fn add<I: Iterator<Item = u64> + Clone>(
        &mut self,
        scratch: &mut Vec<u32>,
        parts: &[(I, f64)],
        resolution: u64,
    ) {
        scratch.clear();
        let mut slice = Tally::new();
        let (mut most, mut mean) = (0, None);
        for (ticks, baseline) in parts {
            let shift = OFFSET as f64 - baseline;
            let mut count = 0;
            for tick in ticks.clone() {
                count += 1;
                let value = (tick as f64 + shift).round();
                if value <= f64::from(u32::MAX) {
                    scratch.push(value as u32);
                } else {
                    slice.merge(&std::iter::once(value as u64).collect());
                }
            }
            // The slice's mean is that of its largest part, for a mean of several would be of neither.
            if count > most {
                most = count;
                mean = undisturbed_mean(ticks.clone(), resolution).map(|mean| mean - baseline);
            }
        }
        slice.add_values(scratch);
        if !slice.is_empty() {
            self.slices.add(slice);
        }
        self.means.extend(mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_the_offset_and_are_never_lost_nor_cut_off_at_zero() {
        let mut latencies = OffsetTally::default();
        latencies.add(&mut Vec::new(), &[([26, 52, 1_000, 10_000_000_000].into_iter(), 48.0)], 26);
        let values: Vec<_> =
            latencies.tally().iter().map(|(value, count)| (value as i64 - OFFSET as i64, count)).collect();
        assert_eq!(values, [(-22, 1), (4, 1), (952, 1), (9_999_999_952, 1)]);
    }
}
