//! What the measurement itself takes: the rounds without a lock, which are taken off those with one; what is read where
//! the answer is known and is not zero; the recording of a round, and the calls of a shared object.

use crate::latency::record::Operation;
use harness::Calibrated;
use instruments::clock::Clock;
use instruments::grind::Work;
use instruments::statistics::order::median;
use instruments::team::{StartGate, on_cpu};
use loops::latency::{AnyLock, Round, Trace, Way, known_time, of_known_time, without_lock};

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
    pub fn without_lock(empty: &Trace, resolution: u64) -> Option<Self> {
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

    /// That of an operation; of a round trip, the whole round.
    pub fn of(&self, operation: Operation) -> f64 {
        match operation {
            Operation::Lock => self.lock,
            Operation::Unlock => self.unlock,
            Operation::RoundTrip => self.lock + self.hold + self.unlock,
        }
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

/// The median of this many is used.
const REPEATS: usize = 7;

/// A control: what is read where the answer is known and is not zero, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// By the rounds, as if it were a lock.
    pub read: f64,
    /// Without a timestamp in it.
    pub known: f64,
}

impl Control {
    /// Measures it, one after the other, since the core's frequency drifts; `None` where no round was undisturbed.
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

    /// How far off a reading may be.
    pub fn error(&self) -> f64 {
        (self.read - self.known).abs()
    }
}

/// A baseline by such rounds, which may have a lock after all.
fn rounds(lock: &dyn AnyLock, clock: Clock, resolution: u64, trace: &mut Trace) -> Option<Baseline> {
    let way = Way { clock, hold: Work::of_loads(0), probe: None };
    lock.rounds(way, trace, &StartGate::endless(clock));
    Baseline::without_lock(trace, resolution)
}

/// What recording a round costs, in nanoseconds: a round with neither a lock nor a hold time.
pub fn recording_ns(calibrated: &Calibrated) -> std::io::Result<f64> {
    let (clock, cpu) = (calibrated.clock(), calibrated.cpu);
    on_cpu(cpu, move || {
        let (mut trace, _) = Trace::with_capacity(BASELINE_ROUNDS);
        let way = Way { clock, hold: Work::of_loads(0), probe: None };
        without_lock().rounds(way, &mut trace, &StartGate::endless(clock));
        let periods = trace.rounds().windows(2).map(|pair| pair[1].began - pair[0].began);
        undisturbed_mean(periods, calibrated.quality.resolution_ticks).unwrap_or(0.0) * clock.ns_per_tick()
    })
}

/// What it costs that the functions of a shared object are called through pointers: a lock and an unlock that do
/// nothing, in a bare loop, in nanoseconds.
pub fn object_calls_ns(calibrated: &Calibrated) -> std::io::Result<f64> {
    let (clock, cpu) = (calibrated.clock(), calibrated.cpu);
    let empty = loops::latency::of_object_calls()?;
    on_cpu(cpu, move || empty.bare_pair(clock) * clock.ns_per_tick())
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
