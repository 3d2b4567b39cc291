//! What one thread's rounds add up to, slice by slice.
//!
//! Latencies are kept in ticks, less the baseline of their own slice: what the same loop takes with no lock in it. The
//! core's frequency drifts by a per cent or so over seconds, which for a hold of 6 µs is more than most locks take;
//! over one slice it is steady. A latency below the clock's resolution can come out a little below zero, so every tally
//! has an offset added, which its reader takes off again.

use super::causes::{Causes, SliceEvidence};
use super::rounds::{Lap, Trace};
use crate::latency::record::Operation;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::{quantile_interval, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;
use instruments::statistics::{Interval, Summary};
use instruments::tally::Tally;
use std::ops::Range;

/// The two differences of a round without a lock, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    /// From the beginning of a round to the lock taken: one timestamp, and storing the round before.
    pub lock: f64,
    /// From the lock taken to its release: the hold time and one timestamp.
    pub unlock: f64,
    /// How far the second one scatters by itself (from the 10 % to the 90 % quantile). An unlock is what is left when
    /// it is subtracted, so no unlock is known better than that.
    pub scatter: u64,
}

impl Baseline {
    /// Of rounds that took no lock.
    ///
    /// Means, because it sees below the steps of the clock; of those that are near the median, because an interruption
    /// is no part of what the recording costs. `None` without rounds.
    pub fn of(empty: &Trace, resolution: u64) -> Option<Self> {
        let locks = sorted(empty.laps().map(|lap| lap.locked - lap.began));
        let unlocks = sorted(empty.laps().map(|lap| lap.ended - lap.locked));
        let scatter = unlocks.get(unlocks.len() * 9 / 10)? - unlocks.get(unlocks.len() / 10)?;
        let lock = undisturbed_mean(&locks, resolution)?;
        Some(Self { lock, unlock: undisturbed_mean(&unlocks, resolution)?, scatter })
    }
}

fn sorted(ticks: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut sorted: Vec<u64> = ticks.collect();
    sorted.sort_unstable();
    sorted
}

/// The mean of what is at most a tenth and some steps of the clock above the median. Leaving out a fixed share instead
/// would cut into the upper of two neighbouring steps, and so lower the mean of the rest.
fn undisturbed_mean(sorted: &[u64], resolution: u64) -> Option<f64> {
    let median = sorted.get(sorted.len() / 2)?;
    let limit = median + median / 10 + 3 * resolution;
    let kept = sorted.partition_point(|&ticks| ticks <= limit);
    Some(sorted[..kept].iter().sum::<u64>() as f64 / kept as f64)
}

/// Latencies of one operation, each with `offset` added.
#[derive(Clone, Debug, Default)]
pub struct OffsetTally {
    pub tally: Tally,
    /// What every value is too high by, in ticks.
    pub offset: u64,
    /// Differences smaller than this mean nothing, in ticks.
    pub resolution: u64,
    /// The median of each slice, with the offset too: how far slices differ is part of how well the median is known.
    pub slice_medians: Vec<f64>,
    /// What slices with evidence know of the causes; their latencies are in no figure.
    pub causes: Causes,
}

impl OffsetTally {
    /// The 95 % interval of the median: that of all rounds together, widened to that of the slices' medians.
    ///
    /// Millions of rounds give an interval of no width, as if they were independent. What differs from slice to slice,
    /// the core's frequency for instance, shows only between slices.
    pub fn median_interval(&self) -> Option<Interval> {
        let pooled = quantile_interval(&self.tally, 0.5, CONFIDENCE)?;
        let slices = sample_quantile_interval(&self.slice_medians, 0.5, CONFIDENCE);
        Some(slices.map_or(pooled, |slices| Interval::new(pooled.low.min(slices.low), pooled.high.max(slices.high))))
    }

    /// The figures that decide whether these are known well enough, in ticks.
    pub fn figures(&self) -> [Estimate; 2] {
        let summary = Summary::of(&self.tally);
        let by = self.offset as f64;
        let figure = |value: Option<f64>, interval: Option<Interval>| Estimate {
            value: value.map_or(0.0, |value| value - by),
            interval: interval.map(|ends| Interval::new(ends.low - by, ends.high - by)),
            resolution: self.resolution as f64,
        };
        [
            figure(summary.as_ref().map(|known| known.p50), self.median_interval()),
            figure(summary.as_ref().map(|known| known.p999), summary.as_ref().and_then(|known| known.p999_ci)),
        ]
    }

    fn add(&mut self, scratch: &mut Vec<u32>, ticks: impl Iterator<Item = u64>, baseline: f64) {
        let shift = self.offset as f64 - baseline;
        scratch.clear();
        let mut long = Tally::new();
        for tick in ticks {
            let value = (tick as f64 + shift).round().max(0.0);
            if value <= f64::from(u32::MAX) {
                scratch.push(value as u32);
            } else {
                long.merge(&std::iter::once(value as u64).collect());
            }
        }
        if !scratch.is_empty() {
            let middle = scratch.len() / 2;
            self.slice_medians.push(f64::from(*scratch.select_nth_unstable(middle).1));
        }
        self.tally.add_values(scratch);
        self.tally.merge(&long);
    }
}

/// One thread's latencies over all slices of a cell.
#[derive(Clone, Debug)]
pub struct Series {
    pub lock: OffsetTally,
    pub unlock: OffsetTally,
    pub round_trip: OffsetTally,
    scratch: Vec<u32>,
    scatters: Vec<u64>,
}

impl Series {
    /// Empty. `resolution` and `hold` in ticks decide how far below zero a latency may come out.
    pub fn new(resolution: u64, hold: u64) -> Self {
        let with_offset = |offset| OffsetTally { offset, resolution, ..OffsetTally::default() };
        let (short, long) = (2 * resolution, 2 * resolution + hold / 100);
        Self {
            lock: with_offset(short),
            unlock: with_offset(long),
            round_trip: with_offset(short),
            scratch: Vec::new(),
            scatters: Vec::new(),
        }
    }

    /// The median scatter of the slices so far: one slice may have met a burst of noise.
    fn scatter(&mut self, baseline: Baseline) -> u64 {
        self.scatters.push(baseline.scatter);
        let middle = self.scatters.len() / 2;
        *self.scatters.select_nth_unstable(middle).1
    }

    /// Adds the rounds that began within `window`. From a round trip only the cost of `recording`, in ticks, is taken
    /// off: the hold time belongs to it, however long it was.
    pub fn add(&mut self, trace: &Trace, window: Range<u64>, baseline: Baseline, recording: f64) {
        let laps = || trace.laps().filter(|lap: &Lap| window.contains(&lap.began));
        self.lock.add(&mut self.scratch, laps().map(|lap| lap.locked - lap.began), baseline.lock);
        self.unlock.add(&mut self.scratch, laps().map(|lap| lap.ended - lap.locked), baseline.unlock);
        self.unlock.resolution = self.lock.resolution.max(self.scatter(baseline));
        self.round_trip.add(&mut self.scratch, laps().map(|lap| lap.ended - lap.began), recording);
    }

    /// Adds what a slice with evidence knows of its rounds; their latencies count nowhere else.
    pub fn attribute(&mut self, evidence: &SliceEvidence<'_>, baseline: Baseline, recording: f64) {
        let net = |cost: f64| move |ticks: u64| (ticks as f64 - cost).round().max(0.0) as u64;
        let (lock, unlock) = (baseline.lock, baseline.unlock);
        self.lock.causes.add(Operation::Lock, evidence, lock as u64, net(lock));
        self.unlock.causes.add(Operation::Unlock, evidence, unlock as u64, net(unlock));
        self.round_trip.causes.add(Operation::RoundTrip, evidence, (lock + unlock) as u64, net(recording));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_leaves_out_interruptions_and_keeps_both_steps() {
        let ticks = [[26; 89].as_slice(), &[52; 10], &[100_000]].concat();
        let mean = undisturbed_mean(&ticks, 26).unwrap();
        assert!((mean - (26.0 * 89.0 + 52.0 * 10.0) / 99.0).abs() < 1e-9, "{mean}");
        assert_eq!(undisturbed_mean(&[], 26), None);
    }

    #[test]
    fn latencies_have_the_offset_and_are_never_lost() {
        let mut latencies = OffsetTally { offset: 52, resolution: 26, ..OffsetTally::default() };
        latencies.add(&mut Vec::new(), [26, 52, 1_000, 10_000_000_000].into_iter(), 48.0);
        let values: Vec<_> = latencies.tally.iter().collect();
        assert_eq!(values, [(30, 1), (56, 1), (1_004, 1), (10_000_000_004, 1)]);
    }
}
