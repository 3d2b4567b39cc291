//! What a round takes without a lock, which is taken off what it takes with one.
use loops::latency::{Round, Trace};

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
}
