//! From ticks with an offset to figures: quantiles, durations, the histogram.

use super::offset_tally::OFFSET;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use instruments::tally::Tally;
use record::Bin;
use std::collections::BTreeMap;

/// From ticks with an offset to nanoseconds without.
pub struct ToNanoseconds {
    /// In ticks: below it no quantile is known.
    pub least: f64,
    /// In ticks: below it no mean is known.
    accuracy: f64,
    pub resolution: f64,
    pub ns_per_tick: f64,
}

impl ToNanoseconds {
    /// With a clock that advances in such steps, and figures known from so many ticks on.
    pub fn new(resolution: u64, ns_per_tick: f64, accuracy: f64) -> Self {
        let resolution = resolution as f64;
        Self { least: accuracy.max(resolution), accuracy, resolution, ns_per_tick }
    }

    /// Whether a mean is, in ticks without the offset.
    pub fn is_known(&self, mean: f64) -> bool {
        mean >= self.accuracy
    }

    /// Of ticks without the offset.
    pub fn duration(&self, ticks: Estimate) -> Estimate {
        let ns = |ticks: f64| ticks * self.ns_per_tick;
        Estimate::new(ns(ticks.value), ticks.interval.map(|ends| ends.scaled(self.ns_per_tick)))
    }

    pub fn value(&self, ticks: f64) -> Option<f64> {
        Some(ticks - OFFSET as f64).filter(|net| *net >= self.least).map(|net| net * self.ns_per_tick)
    }

    pub fn quantile(&self, ticks: f64, interval: Option<Interval>) -> (Option<f64>, Option<Interval>) {
        let Some(value) = self.value(ticks) else { return (None, None) };
        let ns = |ticks: f64| (ticks - OFFSET as f64) * self.ns_per_tick;
        (Some(value), interval.map(|ends| self.widened(Interval::new(ns(ends.low), ns(ends.high)))))
    }

    /// By half a step of the clock at each end: a latency that was read may be so much more or less.
    pub fn widened(&self, ns: Interval) -> Interval {
        let half = self.resolution * self.ns_per_tick / 2.0;
        Interval::new(ns.low - half, ns.high + half)
    }

    /// Steps of the clock as long as they are the coarser, then 16 bins an octave.
    pub fn histogram(&self, tally: &Tally, resolution: u64) -> Vec<Bin> {
        const BINS_AN_OCTAVE: f64 = 16.0;
        let step = resolution as f64;
        let bend = step * BINS_AN_OCTAVE / std::f64::consts::LN_2;
        let edge = |bin: i64| {
            let linear = (bend / step).ceil();
            if (bin as f64) < linear {
                (bin as f64 - 0.5) * step
            } else {
                (linear - 0.5) * step * ((bin as f64 - linear) / BINS_AN_OCTAVE).exp2()
            }
        };
        let bin_of = |ticks: f64| {
            let linear = (bend / step).ceil();
            let turn = (linear - 0.5) * step;
            if ticks < turn {
                (ticks / step).round() as i64
            } else {
                (linear + BINS_AN_OCTAVE * (ticks / turn).log2()).floor() as i64
            }
        };
        let mut bins: BTreeMap<i64, u64> = BTreeMap::new();
        for (ticks, count) in tally.iter() {
            *bins.entry(bin_of((ticks as f64 - OFFSET as f64).max(0.0))).or_default() += count;
        }
        let ns = |ticks: f64| (ticks * self.ns_per_tick).max(0.0);
        bins.into_iter().map(|(bin, count)| Bin { from_ns: ns(edge(bin)), to_ns: ns(edge(bin + 1)), count }).collect()
    }
}
