//! `contend baseline`: names for records that later records are compared with.

mod change;
mod known;
mod list;

pub use known::{named, readable};

use crate::commands::archived;
use crate::output::Destination;
use archive::{Archive, Location};
use clap::{Args, Subcommand};
use harness::{Outcome, SharedFlags};

/// Name records that later records are compared with
///
/// A baseline is one record or several; `compare --baseline` refers to it by its name. The newest of several records is
/// compared, and the others show the run-to-run variation. `history push` and `history pull` transfer baselines with
/// the records.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Flags {
    #[command(subcommand)]
    request: Option<Request>,
}

#[derive(Subcommand, Clone, Debug)]
enum Request {
    /// Assign a name to records, replacing any earlier meaning of the name
    Save(change::Save),
    /// Select the baseline that `compare` uses if none is named
    Use(change::Named),
    /// List the baselines and their records
    List,
    /// Delete a name and keep its records
    Remove(change::Named),
    /// Write a baseline and its records to a file for `history pull`
    Export(change::Export),
}

/// Runs the subcommand.
///
/// # Errors
/// There is no archive, no such baseline or record, or Git fails.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let location = Location::of(shared.archive.as_deref());
    match &flags.request {
        None | Some(Request::List) => list::run(&location, Destination::of_view(shared)?),
        Some(Request::Save(flags)) => change::save(flags, &archived::open(&location.folder()?)?),
        Some(Request::Use(flags)) => change::set_used(flags, &Archive::open(&location.folder()?)?),
        Some(Request::Remove(flags)) => change::remove(flags, &Archive::open(&location.folder()?)?),
        Some(Request::Export(flags)) => change::export(flags, &Archive::open(&location.folder()?)?),
    }
}
