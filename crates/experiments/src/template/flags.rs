//! The flags of the experiment.

use clap::Args;
use harness::parse_count;

/// Measure the cost of a system call: the template of an experiment
///
/// Calls are made in batches, between two timestamps each, on one CPU after another.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Number of calls between two timestamps [range: 1 to 1000000]
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = parse_count::within::<u32>(1..=1_000_000))]
    pub batch: u32,
}
