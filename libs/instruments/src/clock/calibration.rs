//! Calibration of the counter's rate, from two readings of `CLOCK_MONOTONIC_RAW` a known time apart.

use super::Source;
use super::counter::monotonic_raw_ns;
use serde::{Deserialize, Serialize};
use std::time::Duration;

// A counter with a known rate.

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

/// One point in time on both clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// Value of the counter, in ticks.
    pub ticks: u64,
    /// Value of `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    pub raw_ns: u64,
    /// Counter ticks between which the raw clock was read: the uncertainty is half of it.
    pub width_ticks: u64,
}

impl Anchor {
    /// Returns the narrowest of 400 readings: an interrupted reading is wide and is discarded.
    pub fn take(source: Source) -> Self {
        (0..400).map(|_| Self::once(source)).min_by_key(|anchor| anchor.width_ticks).expect("400 readings")
    }

    fn once(source: Source) -> Self {
        let before = source.read_ordered();
        let raw_ns = monotonic_raw_ns();
        let width_ticks = source.read_ordered() - before;
        Self { ticks: before + width_ticks / 2, raw_ns, width_ticks }
    }
}

/// A calibrated clock with the uncertainty of its rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The clock, ready for use.
    pub clock: Clock,
    /// Reason why the CPU's counter is not used, if it is not.
    pub fallback: Option<String>,
    /// Fit residual in nanoseconds: deviation of a third anchor, half-way, from the line through the first and the
    /// last one.
    pub residual_ns: f64,
    /// Uncertainty of the rate due to the width of the two anchors, in parts per million.
    pub uncertainty_ppm: f64,
    first: Anchor,
}

/// Deviation of a calibrated clock from `CLOCK_MONOTONIC_RAW` over a longer time than that of its calibration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConversionError {
    /// Time of the comparison in seconds.
    pub span_s: f64,
    /// (clock − raw) / raw, in parts per million.
    pub error_ppm: f64,
    /// Uncertainty of the error due to the width of the two anchors, in parts per million.
    pub uncertainty_ppm: f64,
}

impl Clock {
    /// Selects the best source that can be trusted on this machine, and calibrates it for about `span`.
    pub fn calibrate(span: Duration) -> Calibration {
        let (source, fallback) = Source::choose();
        Calibration::of(source, fallback, span)
    }
}

impl Calibration {
    pub(crate) fn of(source: Source, fallback: Option<String>, span: Duration) -> Self {
        let first = Anchor::take(source);
        std::thread::sleep(span / 2);
        let middle = Anchor::take(source);
        std::thread::sleep(span / 2);
        let last = Anchor::take(source);
        let raw_ns = (last.raw_ns - first.raw_ns) as f64;
        let clock = Clock::new(source, raw_ns / (last.ticks - first.ticks) as f64);
        let predicted_ns = clock.to_ns(middle.ticks - first.ticks);
        Self {
            clock,
            fallback,
            residual_ns: predicted_ns - (middle.raw_ns - first.raw_ns) as f64,
            uncertainty_ppm: doubt_ns(clock, first, last) / raw_ns * 1e6,
            first,
        }
    }

    /// Compares the clock with `CLOCK_MONOTONIC_RAW` over the whole time since its calibration began.
    pub fn error_since(&self) -> ConversionError {
        let now = Anchor::take(self.clock.source());
        let raw_ns = (now.raw_ns - self.first.raw_ns) as f64;
        let clock_ns = self.clock.to_ns(now.ticks - self.first.ticks);
        ConversionError {
            span_s: raw_ns / 1e9,
            error_ppm: (clock_ns - raw_ns) / raw_ns * 1e6,
            uncertainty_ppm: doubt_ns(self.clock, self.first, now) / raw_ns * 1e6,
        }
    }
}

/// Returns the uncertainty of the time between two anchors, in nanoseconds.
fn doubt_ns(clock: Clock, first: Anchor, last: Anchor) -> f64 {
    // A reading is rounded down to a tick, which may be long: 40 ns on many ARM machines.
    clock.to_ns(first.width_ticks + last.width_ticks + 2) / 2.0
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

#[cfg(test)]
mod measured {
    use super::*;

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn a_calibrated_clock_keeps_time() {
        let calibration = Clock::calibrate(Duration::from_millis(50));
        std::thread::sleep(Duration::from_millis(200));
        let error = calibration.error_since();
        assert!(error.span_s >= 0.25, "{error:?}");
        // The stated uncertainty of 50 ms is a few ppm; ten thousand mean that the conversion is wrong.
        assert!(error.error_ppm.abs() < 10_000.0, "{error:?}");
        // The time is five times as long, and the anchors' width is known from the first one on.
        let first_ns = calibration.clock.to_ns(calibration.first.width_ticks) / 2.0;
        assert!(error.uncertainty_ppm >= first_ns / (error.span_s * 1e3), "{error:?}");
    }

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn the_fallback_counts_nanoseconds() {
        let calibration = Calibration::of(Source::ClockGettime, Some("requested".into()), Duration::from_millis(20));
        assert!((calibration.clock.ns_per_tick() - 1.0).abs() < 1e-3, "{calibration:?}");
        assert_eq!(calibration.fallback.as_deref(), Some("requested"));
    }
}
