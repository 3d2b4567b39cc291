//! Work that knows when it was kept from being done.
//!
//! A step's work is a number of small grinds, each between two readings of the clock. One that takes much longer than
//! they usually do was interrupted, and what it took beyond the usual is the gap. So the time of the work, less its
//! gaps, is that of the work alone, and the gaps lie where they were met.

use crate::injection::Schedule;
use instruments::clock::Clock;
use instruments::grind::{Grind, Work};
use std::time::Duration;

/// Time in which the rank was kept from its work, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When it began.
    pub start: u64,
    /// How long it lasted.
    pub length: u64,
    /// It was one of the [`Schedule`]'s.
    pub injected: bool,
}

/// The length of one grind: short enough that gaps are found where they are, and long beside a reading of the clock.
pub const GRIND: Duration = Duration::from_micros(1);
/// Grinds that the usual one is found from.
const SAMPLES: usize = 301;
/// What stands so much above the usual grind is a gap: in nanoseconds, …
const MARGIN_NS: f64 = 150.0;
/// … and as a share of it, beyond what a neighbour on the core does to it.
const MARGIN_SHARE: f64 = 0.25;
/// Gaps that there is room for at first, touched before anything is measured.
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
    /// Work in small grinds; pin the thread first.
    pub fn new(clock: Clock, grind: &Grind, schedule: Option<Schedule>) -> Self {
        let grind = grind.work(GRIND.as_nanos() as f64);
        let mut watched = Self { clock, grind, usual: 0, threshold: 0, schedule, seen: Vec::new() };
        watched.learn();
        watched
    }

    /// Finds out anew what is usual: a CPU's frequency changes.
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

    /// What a grind usually takes here, with the reading of the clock, in nanoseconds.
    pub fn usual_ns(&self) -> f64 {
        self.clock.to_ns(self.usual)
    }

    /// What counts as a gap, in nanoseconds beyond the usual grind.
    pub fn margin_ns(&self) -> f64 {
        self.clock.to_ns(self.threshold - self.usual)
    }

    /// So many grinds from this moment on, which is where the last thing that the rank did ended; when they are done.
    pub fn work(&mut self, from: u64, grinds: u64) -> u64 {
        (0..grinds).fold(from, |last, _| self.one(last))
    }

    /// Grinds until that moment; how many, and when the last was done.
    pub fn work_until(&mut self, from: u64, until: u64) -> (u64, u64) {
        let (mut last, mut grinds) = (from, 0);
        while last < until {
            last = self.one(last);
            grinds += 1;
        }
        (grinds, last)
    }

    /// The gaps since the last call, in order.
    pub fn take_seen(&mut self) -> Vec<Seen> {
        let seen = self.seen.clone();
        self.seen.clear();
        seen
    }

    /// How many gaps there were since they were last taken.
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

    /// Does nothing until the interruption is over.
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
