//! `contend baseline`: names for records that later ones are held against.

mod change;
mod known;
mod list;

pub use known::{named, readable};

use crate::commands::archived;
use crate::output::Destination;
use archive::{Archive, Location};
use clap::{Args, Subcommand};
use harness::{Outcome, SharedFlags};

/// Names for records that later ones are held against: what `compare --baseline` means
///
/// A baseline is one record or several; of several, the newest is compared, and the others tell how much runs of the
/// same differ. `history push` and `pull` take baselines along.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Flags {
    #[command(subcommand)]
    request: Option<Request>,
}

#[derive(Subcommand, Clone, Debug)]
enum Request {
    /// Give a name to records, whatever it meant before
    Save(change::Save),
    /// Make it the one that `compare` means where none is named
    Use(change::Named),
    /// List the baselines and what they mean
    List,
    /// Take a name away; its records stay
    Remove(change::Named),
    /// Write a baseline and its records to a file that `history pull` reads
    Export(change::Export),
}

/// Does what is asked.
///
/// # Errors
/// No archive, no such baseline or record, what Git says.
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
