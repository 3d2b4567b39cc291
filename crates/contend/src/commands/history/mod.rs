//! `contend history`: the archive on the command line.

mod list;
mod records;
mod trend;

use crate::commands::archived;
use crate::output::Destination;
use archive::{Archive, Location};
use clap::{Args, Subcommand};
use harness::{Outcome, SharedFlags};
use list::{Filter, Selection};

/// List, show, share and verify archived records; show trends
///
/// A record is named by the first digits of its hash, by `last` or `last~3`, or by a revision of contend's sources.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Flags {
    #[command(subcommand)]
    request: Option<Request>,

    #[command(flatten)]
    filter: Filter,
}

#[derive(Subcommand, Clone, Debug)]
enum Request {
    /// List the records, newest last
    List(Filter),
    /// Show a record as it was printed, or all of it (--all)
    Show(records::Show),
    /// Show a metric of a configuration over all records, and its steps
    Trend(trend::Flags),
    /// Show the hours of the day in which cores were shared (`contend core`)
    Hours(Selection),
    /// Show how often a command differed from itself (`contend ab --control`)
    Controls(Selection),
    /// Delete records
    #[command(visible_alias = "delete")]
    Rm(records::Remove),
    /// Write a record, byte for byte, to a new file
    Export(records::Export),
    /// Send the records that another repository lacks
    Push(records::Remote),
    /// Fetch the records that another repository has
    Pull(records::Remote),
    /// Check every hash, and whether files are archived records
    Verify(records::Verify),
}

/// Runs the subcommand.
///
/// # Errors
/// There is no archive, no such record, or Git fails.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let folder = Location::of(shared.archive.as_deref()).folder()?;
    let (catalogue, view) = (|| archived::open(&folder), || Destination::of_view(shared));
    let list = |filter| list::list(filter, &folder, shared.archive.is_some(), view()?);
    match &flags.request {
        None => list(&flags.filter),
        Some(Request::List(filter)) => list(filter),
        Some(Request::Show(flags)) => records::show(flags, &catalogue()?, shared.archive.as_deref(), view()?),
        Some(Request::Trend(flags)) => trend::run(flags, catalogue()?, view()?),
        Some(Request::Hours(selection)) => list::hours(selection, catalogue()?, view()?),
        Some(Request::Controls(selection)) => list::controls(selection, catalogue()?, view()?),
        Some(Request::Rm(flags)) => records::remove(flags, &catalogue()?),
        Some(Request::Export(flags)) => records::export(flags, &catalogue()?),
        Some(Request::Push(flags)) => records::push(flags, &Archive::open(&folder)?),
        Some(Request::Pull(flags)) => records::pull(flags, &Archive::open_or_create(&folder)?),
        Some(Request::Verify(flags)) => records::verify(flags, &Archive::open(&folder)?),
    }
}
