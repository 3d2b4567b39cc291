//! From the kernel's timestamps to ticks: a line through two moments at which both clocks were read.
//!
//! The kernel stamps its records with `CLOCK_MONOTONIC_RAW`, which runs at the counter's rate and is never bent, so
//! that a line is exact but for the width of the two readings.

use crate::clock::{Anchor, Clock};

/// The line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alignment {
    first: Anchor,
    ticks_per_ns: f64,
    residual_ns: f64,
    uncertainty_ns: f64,
}

impl Alignment {
    /// Through the outermost of the anchors, which are in order of time; the others say how well it fits.
    pub fn through(clock: Clock, anchors: [Anchor; 4]) -> Self {
        let [first, second, third, last] = anchors;
        let span_ns = last.raw_ns.saturating_sub(first.raw_ns);
        let rate = last.ticks.saturating_sub(first.ticks) as f64 / span_ns as f64;
        let ticks_per_ns = if rate.is_finite() && rate > 0.0 { rate } else { clock.ns_per_tick().recip() };
        let mut line = Self { first, ticks_per_ns, residual_ns: 0.0, uncertainty_ns: 0.0 };
        let miss = |anchor: Anchor| (line.ticks(anchor.raw_ns) as f64 - anchor.ticks as f64).abs();
        line.residual_ns = miss(second).max(miss(third)) / ticks_per_ns;
        line.uncertainty_ns = first.width_ticks.max(last.width_ticks) as f64 / 2.0 / ticks_per_ns;
        line
    }

    /// A kernel timestamp in ticks.
    pub fn ticks(&self, raw_ns: u64) -> u64 {
        let since = raw_ns as f64 - self.first.raw_ns as f64;
        self.first.ticks.saturating_add_signed((since * self.ticks_per_ns).round() as i64)
    }

    /// By how much anchors within the stretch miss the line, in ns.
    pub fn residual_ns(&self) -> f64 {
        self.residual_ns
    }

    /// What the width of the readings leaves open, in ns.
    pub fn uncertainty_ns(&self) -> f64 {
        self.uncertainty_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Source;

    #[test]
    fn a_timestamp_lands_on_the_line_and_misses_are_told() {
        let clock = Clock::new(Source::ClockGettime, 0.5);
        let anchor = |ticks, raw_ns| Anchor { ticks, raw_ns, width_ticks: 8 };
        // Two ticks a nanosecond; the third anchor is 6 ticks off.
        let line =
            Alignment::through(clock, [anchor(1_000, 50), anchor(1_020, 60), anchor(2_806, 950), anchor(2_900, 1_000)]);
        assert_eq!(line.ticks(50), 1_000);
        assert_eq!(line.ticks(550), 2_000);
        assert_eq!(line.ticks(40), 980);
        assert_eq!((line.residual_ns(), line.uncertainty_ns()), (3.0, 2.0));
    }

    #[test]
    fn anchors_at_one_moment_fall_back_to_the_calibrated_rate() {
        let clock = Clock::new(Source::ClockGettime, 0.5);
        let line = Alignment::through(clock, [Anchor { ticks: 7, raw_ns: 7, width_ticks: 0 }; 4]);
        assert_eq!(line.ticks(107), 207);
    }
}
