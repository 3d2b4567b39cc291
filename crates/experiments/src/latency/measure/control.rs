//! A control: what is read where the answer is known and is not zero.

use super::baseline::{BASELINE_ROUNDS, Baseline};
use harness::Calibrated;
use instruments::clock::Clock;
use instruments::grind::Work;
use instruments::statistics::order::median;
use instruments::team::{StartGate, on_cpu};
use loops::latency::{AnyLock, Trace, Way, known_time, of_known_time, without_lock};

/// The median of so many is said.
const REPEATS: usize = 7;

/// In ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// By the rounds, as if it were a lock.
    pub read: f64,
    /// Without a timestamp in it.
    pub known: f64,
}

impl Control {
    /// Measures it, one after the other, since the core's frequency drifts; `None` where no round was undisturbed.
    ///
    /// # Errors
    /// The CPU may not be used after all.
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

fn rounds(lock: &dyn AnyLock, clock: Clock, resolution: u64, trace: &mut Trace) -> Option<Baseline> {
    let way = Way { clock, hold: Work::of_loads(0), probe: None };
    lock.rounds(way, trace, &StartGate::endless(clock));
    Baseline::of(trace, resolution)
}
