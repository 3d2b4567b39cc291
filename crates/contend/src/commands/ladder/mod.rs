//! `contend ladder`: what waiting costs on this machine, as one picture: in letters, as SVG or PNG, as rows.

mod choice;

use crate::commands::costs;
use crate::commands::picture::Kind;
use crate::output::Destination;
use anyhow::Context;
use clap::{Args, ValueHint};
use harness::{Outcome, SharedFlags};
use record::{Ladder, Source};
use serde::Serialize;
use terminal::{Page, escaped};

/// What waiting costs here, on one axis from 1 ns to 10 s, beside the figures of 1998 to 2008
///
/// A line a cost: reading the clock, locks that are free or held, switches between threads, the longest gaps. A
/// figure's interval is drawn around it; hollow marks are those of the old documents. A survey has the most of them,
/// and any record of `contend clock`, `latency`, `noise`, `ring` or `core` has some. It measures nothing.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// A file with a record (- is standard input), or a record of the archive [default: the last survey]
    #[arg(value_name = "RECORD", value_hint = ValueHint::FilePath)]
    record: Option<String>,
}

/// What a program is told.
#[derive(Serialize)]
struct Answer<'a> {
    record: &'a str,
    machine: String,
    #[serde(flatten)]
    ladder: &'a Ladder,
}

/// Draws the ladder of a record: as SVG or PNG into a file whose name ends so, else in letters or as `--format` says.
///
/// # Errors
/// No such record, or one without any cost; a picture that cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let kind = Kind::of(shared)?;
    let source = choice::source(flags.record.as_deref(), shared)?;
    let ladder = costs::of(&source)?.with_context(|| nothing(&source))?;
    let machine = report::machine(&source.environment);
    if let Some(kind) = kind {
        kind.write(&report::ladder_file(&ladder, &machine), shared)?;
        return Ok(Outcome::Done);
    }
    let answer = Answer { record: &source.name, machine, ladder: &ladder };
    Destination::of_view(shared)?.present(&answer, &ladder.costs, |page| letters(&answer, page))?;
    Ok(Outcome::Done)
}

fn nothing(source: &Source) -> String {
    format!(
        "{} is a record of {}, which has no cost for the ladder; name one of a survey, or of clock, latency, noise, ring or \
         core",
        source.name, source.experiment
    )
}

/// A heading, the axis, and a line a cost.
fn letters(answer: &Answer<'_>, page: &Page) -> String {
    let rest = format!("costs: {}", answer.machine);
    terminal::wrapped("What waiting", "", &escaped(&rest), page) + &answer.ladder.letters(page)
}
