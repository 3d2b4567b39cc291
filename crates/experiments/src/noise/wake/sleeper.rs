//! A thread that sleeps until an instant, and again: how late it is each time.

use crate::noise::timer::{Alarm, monotonic_ns};
use harness::Interruption;
use instruments::clock::Clock;
use instruments::cpus::current_cpu;
use std::io;

/// One wake-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wake {
    /// When the thread ran, in ticks.
    pub woke: u64,
    pub late_ns: u64,
    pub cpu: usize,
}

/// The wake-ups of one piece.
#[derive(Debug)]
pub struct Piece {
    pub wakes: Vec<Wake>,
    /// When it began and ended, in ticks.
    pub span: (u64, u64),
    /// Instants that had passed before the thread could sleep until them.
    pub skipped: u64,
    /// The last wake-up was later than what ends it all.
    pub is_stopped: bool,
}

/// What ends a piece.
pub struct Limit<'a> {
    /// In ticks.
    pub end: u64,
    pub stop_above_ns: u64,
    pub interruption: &'a Interruption,
}

/// A thread's way to sleep, and memory for its wake-ups.
pub struct Sleeper {
    clock: Clock,
    alarm: Alarm,
    interval_ns: u64,
    /// The CPU that the thread is pinned to; `None` if the kernel places it.
    cpu: Option<usize>,
    wakes: Vec<Wake>,
}

impl Sleeper {
    /// Reserves memory for this number of wake-ups per piece, and touches it, so that no page fault delays one.
    pub fn new(clock: Clock, alarm: Alarm, interval_ns: u64, cpu: Option<usize>, room: usize) -> Self {
        let mut wakes = vec![Wake { woke: 1, late_ns: 1, cpu: 1 }; room];
        wakes.clear();
        Self { clock, alarm, interval_ns, cpu, wakes }
    }

    /// Sleeps and wakes until the limit. It sleeps in every round: each instant lies in the future when it is asked
    /// for.
    pub fn sleep_through(&mut self, limit: &Limit<'_>) -> io::Result<Piece> {
        let Self { clock, alarm, interval_ns, cpu, wakes } = self;
        wakes.clear();
        let (start, mut skipped, mut is_stopped) = (clock.now(), 0, false);
        let mut due = monotonic_ns() + *interval_ns;
        while wakes.len() < wakes.capacity() && !limit.interruption.is_requested() {
            let left = limit.end.saturating_sub(clock.now());
            if clock.to_ns(left) < due.saturating_sub(monotonic_ns()) as f64 {
                break;
            }
            alarm.sleep_until(due)?;
            let now = monotonic_ns();
            let woke = clock.now();
            // A signal wakes it before the instant.
            if now < due {
                continue;
            }
            let late_ns = now - due;
            wakes.push(Wake { woke, late_ns, cpu: cpu.unwrap_or_else(current_cpu) });
            if late_ns > limit.stop_above_ns {
                is_stopped = true;
                break;
            }
            due += *interval_ns;
            let now = monotonic_ns();
            if due <= now {
                let passed = (now - due) / *interval_ns + 1;
                skipped += passed;
                due += passed * *interval_ns;
            }
        }
        Ok(Piece { wakes: wakes.clone(), span: (start, clock.now()), skipped, is_stopped })
    }
}
