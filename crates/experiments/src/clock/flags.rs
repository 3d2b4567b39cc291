//! What the user may set.

use clap::Args;
use harness::parse_duration;
use std::time::Duration;

/// The clock's cost, resolution and agreement; the grind; and how much of the CPU is left over slices of 10 µs to 2 s
///
/// The grind is work of a known length. Run for longer and longer slices, it shows what the system takes: as long as a
/// slice fits between two ticks the best run is undisturbed, from then on the effective MHz fall.
#[derive(Args, Clone, Debug, Default)]
pub struct Flags {
    /// The longest slice of the curve [default: 2s, or a fifth of the time budget]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub longest: Option<Duration>,
}
