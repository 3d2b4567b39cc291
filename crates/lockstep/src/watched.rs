//! Work that detects its interruptions.
//!
//! The work of a step is a number of short busy loops, each between two readings of the clock. One that takes much
//! longer than usual was interrupted, and the time beyond the usual is the gap. So the time of the work, less its gaps,
//! is that of the work alone, and each gap is located where it occurred.

use harness::parse_duration;
use instruments::clock::Clock;
use instruments::grind::{Grind, Work};
use std::fmt;
use std::str::FromStr;
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

/// Interruptions of known form: the CPU is taken for a fixed time at a fixed period, from a random phase on.
///
/// They hold the rank itself, which polls the clock and does no work in that time. So they cost the same on any machine,
/// and the measurement can be compared with the expected result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// The length of each interruption.
    pub length_ns: u64,
    /// The time from the beginning of one to that of the next.
    pub every_ns: u64,
}

impl FromStr for Injection {
    type Err = String;

    /// Parses `200us:10ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (length, every) = text.split_once(':').ok_or("needs two times, as in 200us:10ms")?;
        let [length_ns, every_ns] =
            [parse_duration::span(length)?, parse_duration::span(every)?].map(|one| one.as_nanos() as u64);
        match (length_ns, every_ns) {
            (0, _) => Err("the interruption must be longer than 0".into()),
            _ if length_ns * 2 > every_ns => {
                Err("the second time, the period of the interruptions, must be at least twice the first".into())
            }
            _ => Ok(Self { length_ns, every_ns }),
        }
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} µs every {} µs", self.length_ns as f64 / 1e3, self.every_ns as f64 / 1e3)
    }
}

impl Injection {
    /// Returns the phase of a rank: the begin of its first interruption.
    pub fn phase_ns(&self, seed: u64, rank: u64) -> u64 {
        let mut rng = fastrand::Rng::with_seed(seed ^ rank.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        rng.u64(..self.every_ns)
    }
}

/// The interruptions of one rank, in ticks of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    next: u64,
    length: u64,
    every: u64,
}

impl Schedule {
    /// Creates a schedule from a moment on, with the first interruption after `phase_ns`.
    pub fn new(injection: Injection, clock: Clock, from: u64, phase_ns: u64) -> Self {
        let ticks = |ns: u64| clock.to_ticks(ns as f64).max(1);
        Self::of_ticks(from + clock.to_ticks(phase_ns as f64), ticks(injection.length_ns), ticks(injection.every_ns))
    }

    /// Creates a schedule with this length and this period, in ticks.
    pub fn of_ticks(next: u64, length: u64, every: u64) -> Self {
        Self { next, length, every }
    }

    /// Returns the end of the interruption at this moment; `None` if there is none.
    ///
    /// Moments must not decrease.
    #[inline]
    pub fn until(&mut self, now: u64) -> Option<u64> {
        if now < self.next {
            return None;
        }
        let missed = (now - self.next) / self.every;
        self.next += missed * self.every;
        let end = self.next + self.length;
        if now < end {
            return Some(end);
        }
        self.next += self.every;
        None
    }
}
