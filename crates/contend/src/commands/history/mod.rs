//! `contend history`: the archive on the command line.

mod controls;
mod exchange;
mod hours;
mod list;
mod remove;
mod selection;
mod show;
mod trend;
mod verify;

use crate::commands::archived;
use crate::output::Destination;
use archive::{Archive, Location};
use clap::{Args, Subcommand};
use harness::{Outcome, SharedFlags};

/// List, show, share and verify archived records; show trends
///
/// A record is named by the first digits of its hash, by `last` or `last~3`, or by a revision of contend's sources.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Flags {
    #[command(subcommand)]
    request: Option<Request>,

    #[command(flatten)]
    filter: list::Filter,
}

#[derive(Subcommand, Clone, Debug)]
enum Request {
    /// List the records, newest last
    List(list::Filter),
    /// Show a record as it was printed, or all of it (--all)
    Show(show::Flags),
    /// Show a metric of a configuration over all records, and its steps
    Trend(trend::Flags),
    /// Show the hours of the day in which cores were shared (`contend core`)
    Hours(selection::Selection),
    /// Show how often a command differed from itself (`contend ab --control`)
    Controls(selection::Selection),
    /// Delete records
    #[command(visible_alias = "delete")]
    Rm(remove::Flags),
    /// Write a record, byte for byte, to a new file
    Export(exchange::Export),
    /// Send the records that another repository lacks
    Push(exchange::Remote),
    /// Fetch the records that another repository has
    Pull(exchange::Remote),
    /// Check every hash, and whether files are archived records
    Verify(verify::Flags),
}

/// Runs the subcommand.
///
/// # Errors
/// There is no archive, no such record, or Git fails.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let folder = Location::of(shared.archive.as_deref()).folder()?;
    let list = |filter| list::run(filter, &folder, shared.archive.is_some(), Destination::of_view(shared)?);
    match &flags.request {
        None => list(&flags.filter),
        Some(Request::List(filter)) => list(filter),
        Some(Request::Show(flags)) => {
            let named = shared.archive.as_deref();
            show::run(flags, &archived::open(&folder)?, named, Destination::of_view(shared)?)
        }
        Some(Request::Trend(flags)) => trend::run(flags, archived::open(&folder)?, Destination::of_view(shared)?),
        Some(Request::Hours(selection)) => {
            hours::run(selection, archived::open(&folder)?, Destination::of_view(shared)?)
        }
        Some(Request::Controls(selection)) => {
            controls::run(selection, archived::open(&folder)?, Destination::of_view(shared)?)
        }
        Some(Request::Rm(flags)) => remove::run(flags, &archived::open(&folder)?),
        Some(Request::Export(flags)) => exchange::export(flags, &archived::open(&folder)?),
        Some(Request::Push(flags)) => exchange::push(flags, &Archive::open(&folder)?),
        Some(Request::Pull(flags)) => exchange::pull(flags, &Archive::open_or_create(&folder)?),
        Some(Request::Verify(flags)) => verify::run(flags, &Archive::open(&folder)?),
    }
}
