//! What the user may set.

use clap::Args;
use harness::parse_count;

/// What a system call costs: the template of an experiment
///
/// Calls in batches, each between two timestamps, on each CPU in turn.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Calls between two timestamps
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = parse_count::within::<u32>(1..=1_000_000))]
    pub batch: u32,
}
