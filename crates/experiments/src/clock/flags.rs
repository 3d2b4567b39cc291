//! The flags of the experiment.

use clap::Args;
use harness::parse_duration;
use std::time::Duration;

/// Measure the clock, and the CPU time that is left in windows of 10 µs to 2 s
///
/// Measures the cost and the resolution of a clock reading, and the agreement of the clocks of several CPUs. A busy
/// loop of calibrated length (the grind) then runs in windows of increasing length, and shows the CPU time that the
/// system takes. The best run of a window that fits between two timer ticks is undisturbed; in longer windows the effective clock rate (MHz) falls.
#[derive(Args, Clone, Debug, Default)]
pub struct Flags {
    /// Longest window of the curve [default: 2s, or a fifth of the time budget]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub longest: Option<Duration>,
}
