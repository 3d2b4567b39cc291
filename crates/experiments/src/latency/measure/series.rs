//! What one thread's rounds add up to, slice by slice.
//!
//! Latencies are kept in ticks, less the baseline of their own slice: what the same loop takes with no lock in it. The
//! core's frequency drifts by a per cent or so over seconds; over one slice it is steady. A latency below the clock's
//! resolution can come out a little below zero, so every tally has an offset added, which its reader takes off again.

use super::causes::{Causes, SliceEvidence};
use super::rounds::{Round, Trace};
use crate::latency::record::Operation;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::slices::Slices;
use instruments::statistics::summary::CONFIDENCE;
use instruments::statistics::{Interval, Summary};
use instruments::tally::Tally;
use std::ops::Range;
use std::time::Duration;

/// Added to every latency: no baseline is more, so nothing comes out below zero.
pub const OFFSET: u64 = 1 << 12;

/// For about so long a machine stays as it is: who shares its cores, and what else runs.
const MOOD: Duration = Duration::from_secs(1);

/// With so many rounds without a lock their mean is known to a hundredth of the clock's step.
pub const BASELINE_ROUNDS: usize = 20_000;

/// What the parts of a round take without a lock and without a hold time, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    /// From wanting the lock to having it: a timestamp.
    pub lock: f64,
    /// Between the two stamps that the hold time lies between.
    pub hold: f64,
    /// From the end of the hold time to the release.
    pub unlock: f64,
}

impl Baseline {
    /// Of rounds that took no lock.
    ///
    /// Means, because they see below the steps of the clock. `None` without rounds.
    pub fn of(empty: &Trace, resolution: u64) -> Option<Self> {
        let mean = |part: fn(&Round) -> u64| undisturbed_mean(empty.rounds().iter().map(part), resolution);
        Some(Self { lock: mean(Round::lock)?, hold: mean(Round::hold)?, unlock: mean(Round::unlock)? })
    }

    /// Halfway between this one and one that was taken later.
    pub fn and(self, later: Self) -> Self {
        let mean = |one: f64, other: f64| (one + other) / 2.0;
        Self {
            lock: mean(self.lock, later.lock),
            hold: mean(self.hold, later.hold),
            unlock: mean(self.unlock, later.unlock),
        }
    }

    /// Of the whole round.
    pub fn whole(&self) -> f64 {
        self.lock + self.hold + self.unlock
    }
}

/// The mean of what is at most a tenth and some steps of the clock above the fastest tenth: nothing interrupted it, and
/// nobody shared the core, which makes all of it slower by a third and more for tens of milliseconds. Leaving out a
/// fixed share instead would cut into the upper of two neighbouring steps, and so lower the mean of the rest.
pub fn undisturbed_mean(ticks: impl Iterator<Item = u64>, resolution: u64) -> Option<f64> {
    let mut sorted: Vec<u64> = ticks.collect();
    sorted.sort_unstable();
    let fast = sorted.get(sorted.len() / 10)?;
    let limit = fast + fast / 10 + 3 * resolution;
    let kept = sorted.partition_point(|&ticks| ticks <= limit);
    Some(sorted[..kept].iter().sum::<u64>() as f64 / kept as f64)
}

/// Latencies of one operation, each with [`OFFSET`] added.
#[derive(Clone, Debug, Default)]
pub struct OffsetTally {
    pub slices: Slices,
    /// Of each slice, the mean of the rounds that nothing disturbed; without the offset.
    pub means: Vec<f64>,
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

    fn add(
        &mut self,
        scratch: &mut Vec<u32>,
        ticks: impl Iterator<Item = u64> + Clone,
        baseline: f64,
        resolution: u64,
    ) {
        let shift = OFFSET as f64 - baseline;
        scratch.clear();
        let mut slice = Tally::new();
        for tick in ticks.clone() {
            let value = (tick as f64 + shift).round();
            if value <= f64::from(u32::MAX) {
                scratch.push(value as u32);
            } else {
                slice.merge(&std::iter::once(value as u64).collect());
            }
        }
        slice.add_values(scratch);
        if !slice.is_empty() {
            self.slices.add(slice);
        }
        self.means.extend(undisturbed_mean(ticks, resolution).map(|mean| mean - baseline));
    }
}

/// One thread's latencies over all slices of a cell.
#[derive(Clone, Debug, Default)]
pub struct Series {
    pub lock: OffsetTally,
    pub unlock: OffsetTally,
    pub round_trip: OffsetTally,
    /// How long the lock was held in each slice, in ticks.
    pub holds: Vec<f64>,
    scratch: Vec<u32>,
}

impl Series {
    /// Adds the rounds that began within `window`. The hold time belongs to a round trip, however long it was.
    pub fn add(&mut self, trace: &Trace, window: Range<u64>, baseline: Baseline, resolution: u64) {
        let part = |part: fn(&Round) -> u64| {
            let window = window.clone();
            trace.rounds().iter().filter(move |round| window.contains(&round.began)).map(part)
        };
        self.lock.add(&mut self.scratch, part(Round::lock), baseline.lock, resolution);
        self.unlock.add(&mut self.scratch, part(Round::unlock), baseline.unlock, resolution);
        self.round_trip.add(&mut self.scratch, part(Round::whole), baseline.whole(), resolution);
        self.holds.extend(undisturbed_mean(part(Round::hold), resolution).map(|hold| hold - baseline.hold));
    }

    /// Adds what a slice with evidence knows of its rounds; their latencies count nowhere else.
    pub fn attribute(&mut self, evidence: &SliceEvidence<'_>, baseline: Baseline, hold: f64) {
        let net = |cost: f64| move |ticks: u64| (ticks as f64 - cost).round().max(0.0) as u64;
        let (lock, unlock, whole) = (baseline.lock, baseline.unlock, baseline.whole());
        self.lock.causes.add(Operation::Lock, evidence, lock as u64, net(lock));
        self.unlock.causes.add(Operation::Unlock, evidence, unlock as u64, net(unlock));
        self.round_trip.causes.add(Operation::RoundTrip, evidence, (whole + hold) as u64, net(whole));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_leaves_out_interruptions_and_keeps_both_steps() {
        let ticks = [[26; 89].as_slice(), &[52; 10], &[100_000]].concat();
        let mean = undisturbed_mean(ticks.into_iter(), 26).unwrap();
        assert!((mean - (26.0 * 89.0 + 52.0 * 10.0) / 99.0).abs() < 1e-9, "{mean}");
        assert_eq!(undisturbed_mean(std::iter::empty(), 26), None);
    }

    #[test]
    fn latencies_have_the_offset_and_are_never_lost_nor_cut_off_at_zero() {
        let mut latencies = OffsetTally::default();
        latencies.add(&mut Vec::new(), [26, 52, 1_000, 10_000_000_000].into_iter(), 48.0, 26);
        let values: Vec<_> =
            latencies.tally().iter().map(|(value, count)| (value as i64 - OFFSET as i64, count)).collect();
        assert_eq!(values, [(-22, 1), (4, 1), (952, 1), (9_999_999_952, 1)]);
    }
}
