//! Options of the user.

use clap::Args;
use harness::UsageError;
use launch::{ComparisonFlags, LaunchFlags};

/// The flag that asks for the proof of deadlocks.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Confirm deadlocks")]
pub struct ConfirmFlags {
    /// Run PROGRAM again for each possible deadlock, hold its threads between two locks, and report whether they wait
    /// for each other. --runs sets the number of runs [default: 10]; half of --seconds is for the first run, which finds
    /// the orders; a run that deadlocks is killed
    #[arg(long, group = "compared", conflicts_with_all = ["full", "interval", "export", "save", "pid", "cgroup", "container", "every", "deadline", "metric", "warmup"])]
    pub confirm: bool,
}

/// The flags of the command that this mode reads.
#[derive(Args, Clone, Debug)]
pub struct SharedFlags {
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub launched: LaunchFlags,
}

/// Runs of each cycle, unless the user counts them.
const RUNS: u64 = 10;
const MOST_RUNS: u64 = 1_000;

/// Returns the runs of each cycle.
pub fn runs(flags: &ComparisonFlags) -> Result<u32, UsageError> {
    match flags.runs.unwrap_or(RUNS) {
        runs if runs <= MOST_RUNS => Ok(runs as u32),
        runs => Err(UsageError(format!("--runs {runs}: must be at most {MOST_RUNS} with --confirm"))),
    }
}
