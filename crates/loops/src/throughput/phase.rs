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

/// How long the phases last.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    pub ramp_up: Duration,
    pub counting: Duration,
}

/// The phase. It belongs on a separate cache line: the children read it in every round, and reading the clock there
/// would cost more than some locks.
pub struct RunPhase {
    phase: AtomicU32,
    /// When counting began and ended, in ticks.
    opened: AtomicU64,
    closed: AtomicU64,
    /// When a holder was stopped and when it went on, in ticks; 0 before.
    stopped: AtomicU64,
    resumed: AtomicU64,
    /// The common start, in ticks.
    start: AtomicU64,
}

impl Default for RunPhase {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            phase: AtomicU32::new(RAMP_UP),
            opened: zero(),
            closed: zero(),
            stopped: zero(),
            resumed: zero(),
            start: zero(),
        }
    }
}

impl RunPhase {
    #[inline(always)]
    pub fn current(&self) -> u32 {
        self.phase.load(Ordering::Relaxed)
    }

    /// Leads a run through its phases; the job of a member that takes no lock. It ends early when the gate closes early
    /// or someone asks for the end.
    pub fn conduct(&self, clock: Clock, spans: Spans, interruption: &Interruption, gate: &StartGate) {
        match gate.ready() {
            Some(start) => self.lead_from(start, clock, spans, interruption, gate),
            None => self.phase.store(OVER, Ordering::Relaxed),
        }
    }

    /// The stop that was planned ends nothing here: many children keep the conductor from its CPU, and what comes late
    /// must still be as long as asked.
    fn lead_from(&self, start: u64, clock: Clock, spans: Spans, interruption: &Interruption, gate: &StartGate) {
        self.start.store(start, Ordering::Relaxed);
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

    /// Stops the calling thread for that long, if no thread of the run was stopped yet.
    #[cold]
    pub fn stop_once(&self, now: u64, length: Duration, clock: Clock) {
        if self.stopped.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            std::thread::sleep(length);
            self.resumed.store(clock.now(), Ordering::Relaxed);
        }
    }

    /// When a holder was stopped and when it went on, in ticks after the common start; `None` if none was.
    pub fn stop_of_holder(&self) -> Option<(u64, u64)> {
        let [start, stopped, resumed] =
            [&self.start, &self.stopped, &self.resumed].map(|at| at.load(Ordering::Relaxed));
        (resumed > 0).then(|| (stopped.saturating_sub(start), resumed.saturating_sub(start)))
    }

    /// For how long rounds were counted, in ticks.
    pub fn counted_ticks(&self) -> u64 {
        self.closed.load(Ordering::Relaxed).saturating_sub(self.opened.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPANS: Spans = Spans { ramp_up: Duration::from_millis(1), counting: Duration::from_millis(20) };

    /// Returns the time that a conductor counts if it gets its CPU after this delay.
    fn counted_ns(late: Duration) -> f64 {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let (phase, gate) = (RunPhase::default(), StartGate::endless(clock));
        let start = clock.now().saturating_sub(clock.ticks_in(late));
        gate.stop_at(start + clock.ticks_in(SPANS.ramp_up + SPANS.counting));
        phase.lead_from(start, clock, SPANS, &Interruption::default(), &gate);
        clock.to_ns(phase.counted_ticks())
    }

    #[test]
    fn a_run_that_starts_late_is_as_long_as_asked() {
        for late in [Duration::ZERO, 4 * SPANS.counting] {
            let counted = counted_ns(late);
            assert!(counted >= 0.99 * SPANS.counting.as_nanos() as f64, "{late:?} late: {counted} ns");
        }
    }

    #[test]
    fn a_gate_that_closes_early_ends_it() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let (phase, gate) = (RunPhase::default(), StartGate::endless(clock));
        let minutes = Spans { counting: Duration::from_secs(300), ..SPANS };
        let start = clock.now();
        gate.stop_at(start);
        phase.lead_from(start, clock, minutes, &Interruption::default(), &gate);
        assert!(clock.to_ns(phase.counted_ticks()) < 0.5 * minutes.counting.as_nanos() as f64);
    }
}
