//! `contend doctor`: the events, privileges and tools that the experiments need, each tried on this machine.

mod check;
mod checks;
mod latency;
mod probes;
mod show;

use crate::output::Destination;
use check::Check;
use checks::all;
use clap::Args;
use harness::{Outcome, SharedFlags};

/// Check what can be measured here; print the command that grants the rest
///
/// Each check tries what an experiment would do: it opens the kernel event, asks for the priority, locks the memory. A
/// check that is not met names the experiments that it affects, and the command that grants it. The latency settings are
/// those of the kernel and the processor that let threads wait, each with its cost and the command that changes it.
/// Checks of the kernel need the user that will measure: run it as that user.
#[derive(Args, Clone, Debug)]
pub struct Flags {}

/// Runs every check.
///
/// # Errors
/// The output cannot be written.
pub fn run(shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let destination = Destination::of_view(shared)?;
    let found: Vec<Check> = all()?;
    destination.present(&found, &found, |page| show::text(&found, page))?;
    Ok(Outcome::Done)
}
