//! The flags of the experiment.

use clap::Args;

/// Measure SMT interference: how often a sibling shares the core, and the cost
///
/// Each CPU is probed all the time; CPUs on separate cores are probed simultaneously. Between the probes, loops of
/// several kinds run. The loss of a loop while a sibling shares the core is the loss to expect for code of that kind.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Do not test which CPUs share a core
    #[arg(long)]
    pub no_pairs: bool,
}
