//! The cost of the measurement itself: the iterations without a lock, which are subtracted from those with one; the
//! reading of a known, non-zero time; the recording of an iteration, and the calls of a shared object.

use crate::latency::record::Operation;
use harness::Calibrated;
use instruments::clock::Clock;
use instruments::grind::Work;
use instruments::statistics::order::median;
use instruments::team::{StartGate, on_cpu};
use loops::latency::{AnyLock, IterationSpec, Round, Trace, known_time, of_known_time, without_lock};

/// The number of iterations without a lock with which their mean is known to a hundredth of the clock's step.
pub const BASELINE_ROUNDS: usize = 20_000;

/// The time of the parts of an iteration without a lock and without a hold time, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    /// The time of the lock operation: a timestamp.
    pub lock: f64,
    /// The time between the two timestamps around the hold time.
    pub hold: f64,
    /// The time from the end of the hold time to the release.
    pub unlock: f64,
}

impl Baseline {
    /// Computes the baseline from iterations without a lock.
    ///
    /// It uses means, because they resolve less than the steps of the clock. `None` without iterations.
    pub fn without_lock(empty: &Trace, resolution: u64) -> Option<Self> {
        let mean = |part: fn(&Round) -> u64| undisturbed_mean(empty.rounds().iter().map(part), resolution);
        Some(Self { lock: mean(Round::lock)?, hold: mean(Round::hold)?, unlock: mean(Round::unlock)? })
    }

    /// Returns the middle between this one and a later one.
    pub fn and(self, later: Self) -> Self {
        let mean = |one: f64, other: f64| (one + other) / 2.0;
        Self {
            lock: mean(self.lock, later.lock),
            hold: mean(self.hold, later.hold),
            unlock: mean(self.unlock, later.unlock),
        }
    }

    /// Returns the baseline of an operation; of a round trip, the whole iteration.
    pub fn of(&self, operation: Operation) -> f64 {
        match operation {
            Operation::Lock => self.lock,
            Operation::Unlock => self.unlock,
            Operation::RoundTrip => self.lock + self.hold + self.unlock,
        }
    }
}

/// Returns the mean of the times that are at most a tenth and some steps of the clock above the fastest tenth.
///
/// They were not interrupted, and the core was exclusive: a shared core is slower by a third and more for tens of
/// milliseconds.
///
/// Excluding a fixed share instead would cut into the upper of two adjacent steps, and so lower the mean of the rest.
pub fn undisturbed_mean(ticks: impl Iterator<Item = u64>, resolution: u64) -> Option<f64> {
    let mut sorted: Vec<u64> = ticks.collect();
    sorted.sort_unstable();
    let fast = sorted.get(sorted.len() / 10)?;
    let limit = fast + fast / 10 + 3 * resolution;
    let kept = sorted.partition_point(|&ticks| ticks <= limit);
    Some(sorted[..kept].iter().sum::<u64>() as f64 / kept as f64)
}

/// The number of repeats, of which the median is used.
const REPEATS: usize = 7;

/// A control: the reading of a known, non-zero time, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// The time read by iterations, as if it were a lock.
    pub read: f64,
    /// The time without a timestamp in it.
    pub known: f64,
}

impl Control {
    /// Measures it, one after the other, since the core's frequency drifts; `None` where no iteration was undisturbed.
    pub fn of(calibrated: &Calibrated) -> std::io::Result<Option<Self>> {
        let (clock, cpu, resolution) = (calibrated.clock(), calibrated.cpu, calibrated.quality.resolution_ticks);
        on_cpu(cpu, move || {
            let (mut trace, _) = Trace::with_capacity(BASELINE_ROUNDS);
            let mut once = || {
                let known = known_time(clock);
                let without = rounds(&*without_lock(), clock, resolution, &mut trace)?;
                let with = rounds(&*of_known_time(), clock, resolution, &mut trace)?;
                Some((with.lock - without.lock, known))
            };
            let all: Option<Vec<(f64, f64)>> = (0..REPEATS).map(|_| once()).collect();
            let (read, known): (Vec<f64>, Vec<f64>) = all?.into_iter().unzip();
            Some(Self { read: median(&read)?, known: median(&known)? })
        })
    }

    /// Returns the error of the reading.
    pub fn error(&self) -> f64 {
        (self.read - self.known).abs()
    }
}

/// Returns a baseline from such iterations, which may have a lock after all.
fn rounds(lock: &dyn AnyLock, clock: Clock, resolution: u64, trace: &mut Trace) -> Option<Baseline> {
    let spec = IterationSpec { clock, hold: Work::of_loads(0), probe: None };
    lock.rounds(spec, trace, &StartGate::endless(clock));
    Baseline::without_lock(trace, resolution)
}

/// Returns the cost of recording an iteration, in nanoseconds: one with neither a lock nor a hold time.
pub fn recording_ns(calibrated: &Calibrated) -> std::io::Result<f64> {
    let (clock, cpu) = (calibrated.clock(), calibrated.cpu);
    on_cpu(cpu, move || {
        let (mut trace, _) = Trace::with_capacity(BASELINE_ROUNDS);
        let spec = IterationSpec { clock, hold: Work::of_loads(0), probe: None };
        without_lock().rounds(spec, &mut trace, &StartGate::endless(clock));
        let periods = trace.rounds().windows(2).map(|pair| pair[1].began - pair[0].began);
        undisturbed_mean(periods, calibrated.quality.resolution_ticks).unwrap_or(0.0) * clock.ns_per_tick()
    })
}

/// Returns the cost of calling the functions of a shared object through pointers: a lock and an unlock that do nothing,
/// in a bare loop, in nanoseconds.
pub fn object_calls_ns(calibrated: &Calibrated) -> std::io::Result<f64> {
    let (clock, cpu) = (calibrated.clock(), calibrated.cpu);
    let empty = loops::latency::of_object_calls()?;
    on_cpu(cpu, move || empty.bare_pair(clock) * clock.ns_per_tick())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baseline_excludes_interruptions_and_keeps_both_steps() {
        let ticks = [[26; 89].as_slice(), &[52; 10], &[100_000]].concat();
        let mean = undisturbed_mean(ticks.into_iter(), 26).unwrap();
        assert!((mean - (26.0 * 89.0 + 52.0 * 10.0) / 99.0).abs() < 1e-9, "{mean}");
        assert_eq!(undisturbed_mean(std::iter::empty(), 26), None);
    }
}
