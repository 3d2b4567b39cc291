//! A counter with a known rate.

use super::Source;
use std::time::Duration;

/// A counter and its rate. It is `Copy`, so that every thread has its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    source: Source,
    ns_per_tick: f64,
}

impl Clock {
    pub(crate) const fn new(source: Source, ns_per_tick: f64) -> Self {
        Self { source, ns_per_tick }
    }

    /// Returns the source of the ticks.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Returns the number of nanoseconds per tick.
    pub fn ns_per_tick(&self) -> f64 {
        self.ns_per_tick
    }

    /// Returns the counter's value in ticks, unordered: the cheapest read.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.source.read()
    }

    /// Returns the counter's value in ticks, after all earlier and before all later instructions.
    #[inline(always)]
    pub fn stamp(&self) -> u64 {
        self.source.read_ordered()
    }

    /// Converts a number of ticks to nanoseconds.
    #[inline]
    pub fn to_ns(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick
    }

    /// Converts a number of nanoseconds to ticks, rounded down; 0 for a negative number.
    #[inline]
    pub fn to_ticks(&self, ns: f64) -> u64 {
        (ns / self.ns_per_tick) as u64
    }

    /// Converts a duration to ticks, rounded down.
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
