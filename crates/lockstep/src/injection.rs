//! Interruptions of known form: the CPU is taken for a fixed time at a fixed period, from a random phase on.
//!
//! They hold the rank itself, which polls the clock and does no work in that time. So they cost the same on any machine,
//! and the measurement can be compared with the expected result.

use harness::parse_duration;
use instruments::clock::Clock;
use std::fmt;
use std::str::FromStr;

/// The length and the period of interruptions.
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
