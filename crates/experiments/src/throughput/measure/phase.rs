//! The phase that a run is in, which its children share.

use harness::Interruption;
use instruments::clock::Clock;
use instruments::team::StartGate;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The part of a run that a round belongs to.
pub const RAMP_UP: u32 = 0;
pub const COUNTING: u32 = 1;
pub const OVER: u32 = 2;

/// How often the conductor of a long run looks whether to stop; a run of the usual length is one sleep.
const LOOK: Duration = Duration::from_millis(100);

/// The phase. It belongs on a cache line of its own: the children read it in every round, and reading the clock there
/// would cost more than some locks.
pub struct RunPhase {
    phase: AtomicU32,
    /// When counting began and ended, in ticks.
    opened: AtomicU64,
    closed: AtomicU64,
}

impl RunPhase {
    pub fn new() -> Self {
        Self { phase: AtomicU32::new(RAMP_UP), opened: AtomicU64::new(0), closed: AtomicU64::new(0) }
    }

    #[inline(always)]
    pub fn current(&self) -> u32 {
        self.phase.load(Ordering::Relaxed)
    }

    /// Leads a run through its phases; the job of a member that takes no lock. It ends early when the gate closes early
    /// or someone asks for the end.
    pub fn conduct(
        &self,
        clock: Clock,
        ramp_up: Duration,
        counting: Duration,
        interruption: &Interruption,
        gate: &StartGate,
    ) {
        if let Some(start) = gate.ready() {
            // The stop that was planned ends nothing here: many children keep the conductor from its CPU, and what comes
            // late must still be as long as asked.
            let planned = start + clock.ticks_in(ramp_up + counting);
            let until = |end: Instant| {
                let mut left = end.saturating_duration_since(Instant::now());
                while !left.is_zero() && gate.stop() >= planned && !interruption.is_requested() {
                    std::thread::sleep(left.min(LOOK));
                    left = end.saturating_duration_since(Instant::now());
                }
            };
            until(Instant::now() + ramp_up);
            self.opened.store(clock.now(), Ordering::Relaxed);
            self.phase.store(COUNTING, Ordering::Relaxed);
            until(Instant::now() + counting);
            self.phase.store(OVER, Ordering::Relaxed);
            self.closed.store(clock.now(), Ordering::Relaxed);
        } else {
            self.phase.store(OVER, Ordering::Relaxed);
        }
    }

    /// For how long rounds were counted, in ticks.
    pub fn counted_ticks(&self) -> u64 {
        self.closed.load(Ordering::Relaxed).saturating_sub(self.opened.load(Ordering::Relaxed))
    }
}
