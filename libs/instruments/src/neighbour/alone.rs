//! Code timed while its core is exclusive: batches with SMT interference are excluded and repeated.

use super::core_width::CoreWidth;
use super::probe::{Probe, Reading};
use super::probe::{Probed, Sharing};
use crate::clock::Clock;
use std::time::Duration;

/// Times code for a benchmark's harness, and counts only batches that had the core for themselves.
///
/// ```
/// use instruments::{clock::Clock, neighbour::Alone};
/// use std::time::Duration;
///
/// let clock = Clock::calibrate(Duration::from_millis(10)).clock;
/// let mut alone = Alone::new(clock);
/// let took = alone.time(10_000, || _ = std::hint::black_box((0..100u64).sum::<u64>()));
/// println!("{:.1} ns; {:?} of the batches left out", took.as_nanos() as f64 / 10_000.0, alone.left_out_share());
/// ```
#[derive(Clone, Debug)]
pub struct Alone {
    clock: Clock,
    probe: Option<Probe>,
    core_width: CoreWidth,
    /// As many as take about the time between two probes.
    batch: u64,
    kept: u64,
    left_out: u64,
}

/// Between two probes, which take a fiftieth of it: neighbours come and go in milliseconds.
const BATCH: Duration = Duration::from_micros(150);
/// A call lasts at most this multiple of the requested time, and then accepts every batch: an SMT sibling may stay.
const PATIENCE: u64 = 20;

impl Alone {
    /// Calibrates on the calling thread's CPU, in some ten milliseconds; pin the thread first, if it is to be pinned.
    pub fn new(clock: Clock) -> Self {
        let probe = Probe::calibrate(clock);
        Self { clock, probe, core_width: CoreWidth::default(), batch: 1, kept: 0, left_out: 0 }
    }

    /// The time of this number of iterations while the core is exclusive. Where there is no probe for the architecture, or the core is never
    /// free, it is the time that they took.
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
        *(if is_alone { &mut self.kept } else { &mut self.left_out }) += 1;
        is_alone
    }

    /// The next batch is as long as it should be, by what this one took.
    fn fit_batch(&mut self, batch: u64, took: u64) {
        let wanted = batch as f64 * self.clock.ticks_in(BATCH) as f64 / took.max(1) as f64;
        // It grows in steps: one that was interrupted, or the first, says little.
        self.batch = (wanted as u64).clamp(self.batch / 2, self.batch * 2).max(1);
    }

    /// The share of batches so far with an active SMT sibling; `None` before the first.
    pub fn left_out_share(&self) -> Option<f64> {
        let all = self.kept + self.left_out;
        (all > 0).then(|| self.left_out as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_iterations_are_timed_however_many_batches_are_left_out() {
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
            // Each takes a microsecond at least, and as many count as were requested.
            assert!(took >= Duration::from_nanos(iterations * 999), "{took:?} for {iterations}");
        }
        assert!(alone.left_out_share().is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
}
