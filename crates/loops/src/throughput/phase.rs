//! The phase of a run, which its children share.

use harness::Interruption;
use instruments::clock::Clock;
use instruments::team::StartGate;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The part of a run that an iteration belongs to.
pub const RAMP_UP: u32 = 0;
pub const COUNTING: u32 = 1;
pub const OVER: u32 = 2;

/// The interval at which the conductor of a long run checks whether to stop; a run of the usual length is one sleep.
const LOOK: Duration = Duration::from_millis(100);

/// The lengths of the phases.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    pub ramp_up: Duration,
    pub counting: Duration,
}

/// The phase.
///
/// It needs a separate cache line: the children read it in every iteration, and reading the clock there would cost more
/// than some locks.
pub struct RunPhase {
    phase: AtomicU32,
    /// The begin and the end of counting, in ticks.
    opened: AtomicU64,
    closed: AtomicU64,
}

impl Default for RunPhase {
    fn default() -> Self {
        Self { phase: AtomicU32::new(RAMP_UP), opened: AtomicU64::new(0), closed: AtomicU64::new(0) }
    }
}

impl RunPhase {
    #[inline(always)]
    pub fn current(&self) -> u32 {
        self.phase.load(Ordering::Relaxed)
    }

    /// Leads a run through its phases; the job of a member that takes no lock.
    ///
    /// It ends early when the gate closes early or the end is requested.
    pub fn conduct(&self, clock: Clock, spans: Spans, interruption: &Interruption, gate: &StartGate) {
        match gate.ready() {
            Some(start) => self.lead_from(start, clock, spans, interruption, gate),
            None => self.phase.store(OVER, Ordering::Relaxed),
        }
    }

    /// Leads a run from its actual start.
    ///
    /// The planned end does not apply here: many children keep the conductor from its CPU, and a run that starts late
    /// must still have its full length.
    fn lead_from(&self, start: u64, clock: Clock, spans: Spans, interruption: &Interruption, gate: &StartGate) {
        let planned = start + clock.ticks_in(spans.ramp_up + spans.counting);
        let until = |end: Instant| {
            let mut left = end.saturating_duration_since(Instant::now());
            while !left.is_zero() && gate.stop() >= planned && !interruption.is_requested() {
                std::thread::sleep(left.min(LOOK));
                left = end.saturating_duration_since(Instant::now());
            }
        };
        until(Instant::now() + spans.ramp_up);
        self.opened.store(clock.now(), Ordering::Relaxed);
        self.phase.store(COUNTING, Ordering::Relaxed);
        until(Instant::now() + spans.counting);
        self.phase.store(OVER, Ordering::Relaxed);
        self.closed.store(clock.now(), Ordering::Relaxed);
    }

    /// Returns the time for which iterations were counted, in ticks.
    pub fn counted_ticks(&self) -> u64 {
        self.closed.load(Ordering::Relaxed).saturating_sub(self.opened.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPANS: Spans = Spans { ramp_up: Duration::from_millis(1), counting: Duration::from_millis(20) };

    /// Returns the counted time of a conductor that gets its CPU this late after the start.
    fn counted_ns(late: Duration) -> f64 {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let (phase, gate) = (RunPhase::default(), StartGate::endless(clock));
        let start = clock.now().saturating_sub(clock.ticks_in(late));
        gate.stop_at(start + clock.ticks_in(SPANS.ramp_up + SPANS.counting));
        phase.lead_from(start, clock, SPANS, &Interruption::default(), &gate);
        clock.to_ns(phase.counted_ticks())
    }

    #[test]
    fn run_that_starts_late_has_its_full_length() {
        for late in [Duration::ZERO, 4 * SPANS.counting] {
            let counted = counted_ns(late);
            assert!(counted >= 0.99 * SPANS.counting.as_nanos() as f64, "{late:?} late: {counted} ns");
        }
    }

    #[test]
    fn early_gate_closure_ends_the_run() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let (phase, gate) = (RunPhase::default(), StartGate::endless(clock));
        let start = clock.now();
        gate.stop_at(start);
        phase.lead_from(start, clock, SPANS, &Interruption::default(), &gate);
        assert!(clock.to_ns(phase.counted_ticks()) < 0.5 * SPANS.counting.as_nanos() as f64);
    }
}
