//! Latencies of one operation, by window, in ticks less the time of the same code without a lock.
//!
//! A latency below the clock's resolution can be slightly negative, and a [`Tally`] has no negative values. So every
//! latency is kept with an offset, which is subtracted again before anything leaves this module.

use super::baseline::undisturbed_mean;
use super::causes::Causes;
use crate::estimates::median_of;
use harness::Shown;
use instruments::spikes::{self, Spikes};
use instruments::statistics::comparison::Estimate;
use instruments::statistics::slices::Slices;
use instruments::statistics::summary::CONFIDENCE;
use instruments::statistics::{Interval, Thinned};
use instruments::tally::Tally;
use std::time::Duration;

/// The offset of every latency: no baseline is larger, so no value is negative.
const OFFSET: u64 = 1 << 12;

/// Latencies of one operation.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// The windows, with [`OFFSET`] added to each latency.
    slices: Slices,
    /// The mean of the undisturbed iterations of each window.
    pub means: Thinned<f64>,
    /// The number of iterations that are in no value, since another thread probed its core during them.
    pub excluded: u64,
    /// The causes from windows with evidence; their latencies are in no value.
    pub causes: Causes,
}

impl Latencies {
    /// Adds a window, in parts that have a baseline each.
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
            // The window's mean is that of its largest part, since a mean of several would be of neither.
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

    pub fn count(&self) -> u64 {
        self.slices.all().count()
    }

    /// Returns each latency and its count, in order.
    pub fn iter(&self) -> impl Iterator<Item = (f64, u64)> {
        self.slices.all().iter().map(|(value, count)| (signed(value), count))
    }

    pub fn min(&self) -> Option<f64> {
        self.slices.all().min().map(signed)
    }

    pub fn max(&self) -> Option<f64> {
        self.slices.all().max().map(signed)
    }

    pub fn mean(&self) -> Option<f64> {
        self.slices.all().mean().map(|mean| mean - OFFSET as f64)
    }

    /// Returns the median of the windows' undisturbed means, and its interval.
    pub fn undisturbed_mean(&self) -> Option<Estimate> {
        median_of(&self.means)
    }

    /// Returns a quantile with its 95 % interval over the windows; beyond the median, that of the tail of a run of this
    /// length.
    pub fn quantile(&self, q: f64, span: Duration) -> Option<Estimate> {
        let interval =
            if q > 0.5 { self.slices.tail_interval(q, CONFIDENCE, span) } else { self.slices.interval(q, CONFIDENCE) };
        Some(Estimate::new(signed(self.slices.all().quantile(q)?), interval.map(signed_ends)))
    }

    /// Returns the values that decide whether these are known precisely enough; an interval within `narrow` is.
    pub fn figures(&self, narrow: u64) -> [Estimate; 2] {
        [0.5, 0.999].map(|q| Estimate {
            value: self.slices.all().quantile(q).map_or(0.0, signed),
            interval: self.slices.interval(q, CONFIDENCE).map(signed_ends),
            resolution: narrow as f64,
        })
    }

    /// Finds the spikes; negative values count as zero, or the scatter of the timestamps would have its own spikes.
    ///
    /// The means still use every value as it is: their errors cancel.
    pub fn spikes(&self, resolution: u64) -> Spikes {
        let all = self.slices.all();
        let mut found = spikes::find(&all.map_values(|value| value.saturating_sub(OFFSET)), resolution as f64);
        for spike in &mut found.spikes {
            let (from, to) = (spike.from as u64, spike.to as u64 + OFFSET);
            let from = if spike.from == 0.0 { 0 } else { from + OFFSET };
            if spike.from == 0.0 {
                spike.mean = all.between(from..=to).mean().map_or(spike.mean, |mean| mean - OFFSET as f64);
            }
            let ends = self.slices.interval_within(from..=to, 0.5, CONFIDENCE).map(signed_ends);
            spike.median_ci = ends.map(|ends| Interval::new(ends.low.max(0.0), ends.high.max(0.0)));
        }
        found
    }
}

/// Returns a histogram of the latencies of several threads, for a live view; `None` before there are any.
pub fn shown<'a>(all: impl Iterator<Item = &'a Latencies>, ns_per_tick: f64, step_ns: f64) -> Option<Shown> {
    let mut sum = Tally::new();
    all.for_each(|latencies| sum.merge(latencies.slices.all()));
    (!sum.is_empty()).then(|| Shown::histogram(&sum, ns_per_tick, OFFSET, step_ns))
}

fn signed(value: u64) -> f64 {
    value as f64 - OFFSET as f64
}

fn signed_ends(ends: Interval) -> Interval {
    Interval::new(ends.low - OFFSET as f64, ends.high - OFFSET as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_below_zero_are_kept_by_the_offset() {
        let mut latencies = Latencies::default();
        latencies.add(&mut Vec::new(), &[([26, 52, 1_000, 10_000_000_000].into_iter(), 48.0)], 26);
        let values: Vec<_> = latencies.iter().map(|(ticks, count)| (ticks as i64, count)).collect();
        assert_eq!(values, [(-22, 1), (4, 1), (952, 1), (9_999_999_952, 1)]);
    }
}
