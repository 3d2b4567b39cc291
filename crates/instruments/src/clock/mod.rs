//! The clock: the CPU's own counter, converted to nanoseconds.
//!
//! A counter read costs about half of a `clock_gettime` call, and its value can be subtracted before it is converted,
//! so measurements keep ticks and convert when they have ended. The counter is trusted only on evidence (see
//! [`Source::choose`]); otherwise the clock falls back to `clock_gettime(CLOCK_MONOTONIC_RAW)` and says why.
//!
//! Two reads are offered because they answer two questions:
//!
//! - [`Clock::now`] is the cheapest read. The CPU may move it past neighbouring instructions by as much as its
//!   reorder window, some hundred instructions. It suits loops that do nothing but read the clock.
//! - [`Clock::stamp`] waits until all that stands before it has completed and holds back all that stands after it.
//!   It costs about twice as much. Without it a lock of 3 ns disappears: on a Zen 5 machine two plain reads around the
//!   two halves of an uncontended mutex took exactly as long as the two reads alone, because the atomic instructions
//!   ran in the reads' shadow.
//!
//! ```
//! use instruments::clock::Clock;
//! use std::time::Duration;
//!
//! let clock = Clock::calibrate(Duration::from_millis(20)).clock;
//! let start = clock.stamp();
//! let end = clock.stamp();
//! assert!(clock.to_ns(end - start) < 1e9);
//! ```

mod agreement;
mod calibration;
mod cost;
mod counter;

pub use agreement::{Agreement, agreement};
pub use calibration::{Anchor, Calibration, ConversionError};
pub use cost::{Cost, Quality, quality};
pub use counter::Source;

use std::time::Duration;

/// A counter and its rate. `Copy`, so that every thread has its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    source: Source,
    ns_per_tick: f64,
}

impl Clock {
    /// Chooses the best source this machine can be trusted with and calibrates it for about `span`.
    pub fn calibrate(span: Duration) -> Calibration {
        let (source, fallback) = Source::choose();
        Calibration::of(source, fallback, span)
    }

    pub(crate) const fn new(source: Source, ns_per_tick: f64) -> Self {
        Self { source, ns_per_tick }
    }

    /// Where the ticks come from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Nanoseconds a tick.
    pub fn ns_per_tick(&self) -> f64 {
        self.ns_per_tick
    }

    /// The counter's value in ticks, unordered: the cheapest read.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.source.read()
    }

    /// The counter's value in ticks, after all earlier and before all later instructions.
    #[inline(always)]
    pub fn stamp(&self) -> u64 {
        self.source.read_ordered()
    }

    /// A span of ticks in nanoseconds.
    #[inline]
    pub fn to_ns(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick
    }

    /// A span of nanoseconds in ticks, rounded down; 0 for a negative span.
    #[inline]
    pub fn to_ticks(&self, ns: f64) -> u64 {
        (ns / self.ns_per_tick) as u64
    }

    /// A span in ticks, rounded down.
    #[inline]
    pub fn ticks_in(&self, span: Duration) -> u64 {
        self.to_ticks(span.as_nanos() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_goes_both_ways() {
        let clock = Clock::new(Source::ClockGettime, 0.5);
        assert_eq!(clock.to_ns(3000), 1500.0);
        assert_eq!(clock.to_ticks(1500.0), 3000);
        assert_eq!(clock.to_ticks(-1.0), 0);
        assert_eq!(clock.ticks_in(Duration::from_micros(1)), 2000);
    }
}
