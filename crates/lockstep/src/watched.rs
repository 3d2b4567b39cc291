//! Work that detects its interruptions.
//!
//! The work of a step is a number of short busy loops, each between two readings of the clock. One that takes much
//! longer than usual was interrupted, and the time beyond the usual is the gap. So the time of the work, less its gaps,
//! is that of the work alone, and each gap is located where it occurred.

use crate::injection::Schedule;
use instruments::clock::Clock;
use instruments::grind::{Grind, Work};
use std::time::Duration;

/// The time of an interruption, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The begin of the interruption.
    pub start: u64,
    /// The length of the interruption.
    pub length: u64,
    /// Whether it was one of the [`Schedule`]'s.
    pub injected: bool,
}

/// The length of one busy loop: short enough to locate gaps, and long compared with a reading of the clock.
pub const GRIND: Duration = Duration::from_micros(1);
/// The number of busy loops from which the usual time is determined.
const SAMPLES: usize = 301;
/// The time above the usual busy loop that counts as a gap: in nanoseconds, …
const MARGIN_NS: f64 = 150.0;
/// … and as a share of it, beyond the effect of an SMT sibling.
const MARGIN_SHARE: f64 = 0.25;
/// The number of gaps for which memory is reserved and touched before the measurement.
const ROOM: usize = 1 << 14;

/// A rank at work.
#[derive(Debug)]
pub struct Watched {
    clock: Clock,
    grind: Work,
    usual: u64,
    threshold: u64,
    schedule: Option<Schedule>,
    seen: Vec<Seen>,
}

impl Watched {
    /// Creates work in short busy loops; the thread must already be pinned.
    pub fn new(clock: Clock, grind: &Grind, schedule: Option<Schedule>) -> Self {
        let grind = grind.work(GRIND.as_nanos() as f64);
        let mut watched = Self { clock, grind, usual: 0, threshold: 0, schedule, seen: Vec::new() };
        watched.learn();
        watched
    }

    /// Determines the usual time again, since a CPU's frequency changes.
    pub fn learn(&mut self) {
        let mut last = self.clock.stamp();
        let mut took: Vec<u64> = (0..SAMPLES)
            .map(|_| {
                self.grind.run();
                let now = self.clock.stamp();
                now.saturating_sub(std::mem::replace(&mut last, now))
            })
            .collect();
        self.usual = *took.select_nth_unstable(SAMPLES / 2).1;
        let usual_ns = self.clock.to_ns(self.usual);
        self.threshold = self.usual + self.clock.to_ticks((usual_ns * MARGIN_SHARE).max(MARGIN_NS));
        self.seen = vec![Seen { start: 1, length: 1, injected: true }; ROOM];
        self.seen.clear();
    }

    /// Returns the usual time of a busy loop here, with the reading of the clock, in nanoseconds.
    pub fn usual_ns(&self) -> f64 {
        self.clock.to_ns(self.usual)
    }

    /// Returns the time beyond the usual busy loop that counts as a gap, in nanoseconds.
    pub fn margin_ns(&self) -> f64 {
        self.clock.to_ns(self.threshold - self.usual)
    }

    /// Runs this many busy loops from this moment on, which is the end of the rank's previous action; returns the end.
    pub fn work(&mut self, from: u64, grinds: u64) -> u64 {
        (0..grinds).fold(from, |last, _| self.one(last))
    }

    /// Runs busy loops until this moment; returns their number, and the end of the last.
    pub fn work_until(&mut self, from: u64, until: u64) -> (u64, u64) {
        let (mut last, mut grinds) = (from, 0);
        while last < until {
            last = self.one(last);
            grinds += 1;
        }
        (grinds, last)
    }

    /// Returns the gaps since the last call, in order.
    pub fn take_seen(&mut self) -> Vec<Seen> {
        let seen = self.seen.clone();
        self.seen.clear();
        seen
    }

    /// Returns the number of gaps since they were last taken.
    pub fn seen(&self) -> usize {
        self.seen.len()
    }

    #[inline(always)]
    fn one(&mut self, last: u64) -> u64 {
        let begin = match self.schedule.as_mut().and_then(|schedule| schedule.until(last)) {
            Some(end) => self.hold(last, end),
            None => last,
        };
        self.grind.run();
        let now = self.clock.stamp();
        let took = now.saturating_sub(begin);
        if took > self.threshold {
            self.seen.push(Seen { start: begin, length: took - self.usual, injected: false });
        }
        now
    }

    /// Polls the clock until the interruption is over.
    #[inline(never)]
    fn hold(&mut self, from: u64, until: u64) -> u64 {
        let mut now = from;
        while now < until {
            std::hint::spin_loop();
            now = self.clock.stamp();
        }
        self.seen.push(Seen { start: from, length: now - from, injected: true });
        now
    }
}
