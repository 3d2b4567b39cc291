//! What the user may set.

use clap::Args;

/// Who else is on the core: how often another hardware thread takes part of it, and what that costs
///
/// Each CPU is probed all the time, all of them at once as far as they are cores of their own. Between the probes loops
/// of different kinds run: what each loses when somebody shares the core is what code of that kind loses.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Do not try which of the CPUs share a core
    #[arg(long)]
    pub no_pairs: bool,
}
