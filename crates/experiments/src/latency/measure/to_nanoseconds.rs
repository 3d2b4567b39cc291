//! From ticks with an offset to figures: quantiles, durations, the histogram.

use super::offset_tally::OFFSET;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use instruments::tally::Tally;
use loops::latency::PAIRS;
use record::Bin;
use std::collections::BTreeMap;

/// Runs of the same pair differ by this where nothing disturbs them: by the core's frequency, and by the clock's rate,
/// which each run calibrates. In twenty runs of four locks on a quiet machine it was less than a thousandth, without the
/// clock's step.
const RUN_TO_RUN: f64 = 0.001;

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

    /// A pair from loops between two readings: one such loop, or the difference of two. Ticks without the offset.
    ///
    /// Each reading is up to a step of the clock behind its moment, and all slices can be so by the same: their medians
    /// then agree to the last digit and are a step of the loop off all the same. The core's frequency is another in the
    /// next run, too. The interval is wider by both at either end.
    pub fn pair(&self, ticks: Estimate, loops: f64) -> Estimate {
        let pair = self.duration(ticks);
        let widening = loops * self.resolution * self.ns_per_tick / f64::from(PAIRS) + RUN_TO_RUN * pair.value.abs();
        let wider = |ends: Interval| Interval::new(ends.low - widening, ends.high + widening);
        Estimate { interval: pair.interval.map(wider), ..pair }
    }

    pub fn value(&self, ticks: f64) -> Option<f64> {
        Some(ticks - OFFSET as f64).filter(|net| *net >= self.least).map(|net| net * self.ns_per_tick)
    }

    pub fn quantile(&self, ticks: f64, interval: Option<Interval>) -> (Option<f64>, Option<Interval>) {
        let Some(value) = self.value(ticks) else { return (None, None) };
        let ns = |ticks: f64| (ticks - OFFSET as f64) * self.ns_per_tick;
        (Some(value), interval.map(|ends| self.widened(Interval::new(ns(ends.low), ns(ends.high)))))
    }

    /// By a step of the clock at each end. Each of the two readings of a latency is up to a step behind its moment, so
    /// their difference is up to a step more or less; and where about half of the latencies come out at one step and
    /// half at the next, a core that is a little faster moves the median by a whole one. No time is below zero.
    pub fn widened(&self, ns: Interval) -> Interval {
        let step = self.resolution * self.ns_per_tick;
        Interval::new((ns.low - step).max(0.0), ns.high + step)
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

#[cfg(test)]
mod tests {
    use super::super::offset_tally::OffsetTally;
    use super::*;
    use instruments::statistics::order::{median, sample_quantile_interval};
    use instruments::statistics::summary::CONFIDENCE;

    const STEP: u64 = 25;

    /// Numbers from 0 to 1 that look random.
    fn chance() -> impl FnMut() -> f64 {
        let mut state = 1_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// What a run makes of an operation that takes `steps` steps of the clock, beside a baseline of two.
    fn run(steps: f64, chance: &mut impl FnMut() -> f64) -> OffsetTally {
        let mut latencies = OffsetTally::default();
        for _ in 0..10 {
            let reads = (0..500).map(|_| STEP * (steps + 2.0 + chance()) as u64);
            let reads: Vec<u64> = reads.collect();
            latencies.add(&mut Vec::new(), &[(reads.into_iter(), 2.0 * STEP as f64)], STEP);
        }
        latencies
    }

    /// A loop of pairs by a clock of such steps, and the median of the slices' medians: as the measurement does it.
    fn pair(ticks: f64, chance: &mut impl FnMut() -> f64) -> Estimate {
        let batch = |chance: &mut dyn FnMut() -> f64| {
            let (began, step) = (chance() * STEP as f64, STEP as f64);
            let ended = began + ticks * f64::from(PAIRS);
            ((ended / step).floor() - (began / step).floor()) * step / f64::from(PAIRS)
        };
        let slice = |chance: &mut dyn FnMut() -> f64| {
            let batches: Vec<f64> = (0..45).map(|_| batch(chance)).collect();
            median(&batches).unwrap()
        };
        let slices: Vec<f64> = (0..7).map(|_| slice(chance)).collect();
        Estimate::new(median(&slices).unwrap(), sample_quantile_interval(&slices, 0.5, CONFIDENCE))
    }

    #[test]
    fn the_interval_of_a_pair_covers_it_in_nineteen_of_twenty_runs() {
        let (mut chance, net) = (chance(), ToNanoseconds::new(STEP, 0.4, 0.0));
        let (mut covering, mut uncovered, mut widest) = (0, 0, 0.0_f64);
        for run in 0..400 {
            // Pairs of 2 to 6 ns; in each run the core is a little faster or slower.
            let truth = 5.0 + 10.0 * f64::from(run % 20) / 20.0 + 0.013 * f64::from(run % 7);
            let ticks = pair(truth * (1.0 + 0.001 * (chance() - 0.5)), &mut chance);
            let found = net.pair(ticks, 1.0);
            let ends = found.interval.unwrap();
            covering += u32::from(ends.contains(truth * 0.4));
            uncovered += u32::from(!ticks.interval.unwrap().contains(truth));
            widest = widest.max(ends.width());
        }
        assert!(covering >= 380, "{covering} of 400");
        assert!(uncovered > 100, "without the widening {uncovered} of 400 are not covered");
        assert!(widest < 0.15, "and it is no wider than it takes: {widest} ns");
    }

    #[test]
    fn runs_on_either_side_of_a_step_of_the_clock_have_the_grand_median_in_their_intervals() {
        let mut chance = chance();
        let net = ToNanoseconds::new(STEP, 0.4, 0.0);
        // As fast as the core is, which is a little faster or slower from run to run.
        let mut runs = Vec::new();
        for _ in 0..40 {
            let latencies = run(1.5 + 0.2 * (chance() - 0.5), &mut chance);
            let median = latencies.tally().quantile(0.5).unwrap() as f64;
            runs.push(net.quantile(median, latencies.interval(0.5)));
        }
        let mut medians: Vec<f64> = runs.iter().map(|(median, _)| median.unwrap()).collect();
        medians.sort_by(f64::total_cmp);
        assert!((medians[39] - medians[0] - 10.0).abs() < 1e-6, "on either side of a step: {medians:?}");
        let covering = runs.iter().filter(|(_, ends)| ends.unwrap().contains(medians[20])).count();
        assert!(covering >= 36, "{covering} of 40");
        assert!(runs.iter().all(|(_, ends)| ends.unwrap().width() <= 30.0 + 1e-6), "and no wider than it takes");
    }
}
