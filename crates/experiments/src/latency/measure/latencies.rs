//! Latencies of one operation, slice by slice, in ticks less what the same code takes without a lock.
//!
//! A latency below the clock's resolution can come out a little below zero, and a [`Tally`] has no negative values. So
//! every latency is kept with an offset, which is taken off again before anything leaves this module.

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

/// Added to every latency: no baseline is more, so nothing comes out below zero.
const OFFSET: u64 = 1 << 12;

/// For about so long a machine stays as it is: who shares its cores, and what else runs.
const MOOD: Duration = Duration::from_secs(1);

/// Latencies of one operation.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// Each with [`OFFSET`] added.
    slices: Slices,
    /// Of each slice, the mean of the rounds that nothing disturbed.
    pub means: Thinned<f64>,
    /// Rounds that are in no figure, since another thread probed its core during them.
    pub excluded: u64,
    /// What slices with evidence know of the causes; their latencies are in no figure.
    pub causes: Causes,
}

impl Latencies {
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

    pub fn count(&self) -> u64 {
        self.slices.all().count()
    }

    /// Each latency and how often there was one, in order.
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

    /// The median of the slices' undisturbed means, and its interval.
    pub fn undisturbed_mean(&self) -> Option<Estimate> {
        median_of(&self.means)
    }

    /// A quantile with its 95 % interval over the slices; beyond the median, that of the tail of a run so long.
    pub fn quantile(&self, q: f64, span: Duration) -> Option<Estimate> {
        let interval = if q > 0.5 {
            self.slices.tail_interval(q, CONFIDENCE, span.as_secs_f64() / MOOD.as_secs_f64())
        } else {
            self.slices.interval(q, CONFIDENCE)
        };
        Some(Estimate::new(signed(self.slices.all().quantile(q)?), interval.map(signed_ends)))
    }

    /// The figures that decide whether these are known well enough; an interval within `narrow` is.
    pub fn figures(&self, narrow: u64) -> [Estimate; 2] {
        [0.5, 0.999].map(|q| Estimate {
            value: self.slices.all().quantile(q).map_or(0.0, signed),
            interval: self.slices.interval(q, CONFIDENCE).map(signed_ends),
            resolution: narrow as f64,
        })
    }

    /// Finds the spikes; whatever came out below zero counts as zero, or the scatter of the timestamps would have spikes
    /// of its own. The means still take every value as it is: their errors cancel.
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

/// A histogram of the latencies of several threads, for those who watch; `None` before there are any.
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
    fn latencies_have_the_offset_and_are_never_lost_nor_cut_off_at_zero() {
        let mut latencies = Latencies::default();
        latencies.add(&mut Vec::new(), &[([26, 52, 1_000, 10_000_000_000].into_iter(), 48.0)], 26);
        let values: Vec<_> = latencies.iter().map(|(ticks, count)| (ticks as i64, count)).collect();
        assert_eq!(values, [(-22, 1), (4, 1), (952, 1), (9_999_999_952, 1)]);
    }
}
