//! Timing of code while its core is exclusive: batches with SMT interference are excluded and repeated.

use super::core_width::CoreWidth;
use super::probe::{Probe, Reading};
use super::probe::{Probed, Sharing};
use crate::clock::Clock;
use std::time::Duration;

/// A timer for a benchmark harness that counts only batches that had the core for themselves.
///
/// # Examples
///
/// ```
/// use instruments::{clock::Clock, neighbour::Alone};
/// use std::time::Duration;
///
/// let clock = Clock::calibrate(Duration::from_millis(10)).clock;
/// let mut alone = Alone::new(clock);
/// let took = alone.time(10_000, || _ = std::hint::black_box((0..100u64).sum::<u64>()));
/// println!("{:.1} ns; share of excluded batches: {:?}", took.as_nanos() as f64 / 10_000.0, alone.left_out_share());
/// ```
#[derive(Clone, Debug)]
pub struct Alone {
    clock: Clock,
    probe: Option<Probe>,
    core_width: CoreWidth,
    /// Number of iterations that take about the time between two probes.
    batch: u64,
    kept: u64,
    excluded: u64,
}

/// Time between two probes, which take a fiftieth of it: the activity of SMT siblings changes within milliseconds.
const BATCH: Duration = Duration::from_micros(150);
/// Multiple of the requested time after which a call accepts every batch: an SMT sibling may remain active.
const PATIENCE: u64 = 20;

impl Alone {
    /// Calibrates on the calling thread's CPU, in about ten milliseconds; pin the thread first, if it is to be
    /// pinned.
    pub fn new(clock: Clock) -> Self {
        let probe = Probe::calibrate(clock);
        Self { clock, probe, core_width: CoreWidth::default(), batch: 1, kept: 0, excluded: 0 }
    }

    /// Returns the time of this number of iterations while the core is exclusive.
    ///
    /// Without a probe for the architecture, or if the core is never exclusive, it is the time of all iterations.
    pub fn time(&mut self, iterations: u64, mut routine: impl FnMut()) -> Duration {
        let (mut left, mut ticks, mut tries) = (iterations, 0, 0);
        let mut before = self.probe.map(|probe| probe.take());
        while left > 0 {
            let batch = left.min(self.batch);
            let began = self.clock.stamp();
            (0..batch).for_each(|_| routine());
            let took = self.clock.stamp() - began;
            let after = self.probe.map(|probe| probe.take());
            tries += batch;
            if self.is_alone(before.zip(after)) || tries / PATIENCE > iterations {
                ticks += took;
                left -= batch;
            }
            self.fit_batch(batch, took);
            before = after;
        }
        Duration::from_nanos(self.clock.to_ns(ticks) as u64)
    }

    fn is_alone(&mut self, around: Option<(Reading, Reading)>) -> bool {
        let Some((before, after)) = around else { return true };
        let probed = Probed::between(before, after);
        self.core_width.learn(&probed);
        let is_alone = self.core_width.sharing(&[probed]) == Sharing::Alone;
        *(if is_alone { &mut self.kept } else { &mut self.excluded }) += 1;
        is_alone
    }

    /// Sets the length of the next batch by the duration of this one.
    fn fit_batch(&mut self, batch: u64, took: u64) {
        let target = batch as f64 * self.clock.ticks_in(BATCH) as f64 / took.max(1) as f64;
        // The length changes in steps, because an interrupted batch, or the first one, is not representative.
        self.batch = (target as u64).clamp(self.batch / 2, self.batch * 2).max(1);
    }

    /// Returns the share of batches so far with an active SMT sibling; `None` before the first.
    pub fn left_out_share(&self) -> Option<f64> {
        let all = self.kept + self.excluded;
        (all > 0).then(|| self.excluded as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_iterations_are_timed_despite_excluded_batches() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let mut alone = Alone::new(clock);
        for iterations in [0, 1, 7, 5_000] {
            let mut done = 0;
            let took = alone.time(iterations, || {
                let began = clock.stamp();
                while clock.to_ns(clock.stamp() - began) < 1_000.0 {}
                done += 1;
            });
            assert!(done >= iterations);
            // Each iteration takes at least a microsecond, and as many are counted as were requested.
            assert!(took >= Duration::from_nanos(iterations * 999), "{took:?} for {iterations}");
        }
        assert!(alone.left_out_share().is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
}
