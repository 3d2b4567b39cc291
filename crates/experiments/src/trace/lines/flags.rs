//! Options of the user.

use clap::Args;
use launch::ProgramFlags;

/// Show the cache lines that threads fight for, and the words and functions in them
///
/// Runs PROGRAM, and samples the threads that are on a CPU, with their registers: the instruction before the sampled one
/// has an address. Needs no hardware counters and no privilege for your own processes. Lines that threads on several CPUs
/// use and write move between these CPUs, which no wait shows.
#[derive(Args, Clone, Debug)]
#[command(override_usage = USAGE)]
pub struct Flags {
    #[command(flatten)]
    pub launched: ProgramFlags,

    /// Attach to a running process
    #[arg(long, value_name = "PID", conflicts_with_all = ["program", "patience"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    pub pid: Option<u32>,
}

const USAGE: &str = "contend lines [OPTIONS] -- <PROGRAM> [ARGS]...
       contend lines [OPTIONS] --pid <PID>";
