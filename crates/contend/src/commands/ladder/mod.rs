//! `contend ladder`: the costs of waiting on this machine, as one picture: as text, as SVG or PNG, as rows.

mod choice;

use self::choice::Chosen;
use crate::commands::picture::Kind;
use crate::commands::reading::Reading;
use crate::output::Destination;
use anyhow::Context;
use clap::{Args, ValueHint};
use harness::{Outcome, SharedFlags};
use record::{Ladder, Source};
use serde::Serialize;
use terminal::{Page, escaped};

/// Draw all measured costs on one axis from 1 ns to 10 s
///
/// Each cost has one line: reading the clock, uncontended and contended locks, switches between threads, the longest
/// gaps. A value is drawn with its 95 % confidence interval; hollow marks are the values of documents from 1998 to
/// 2008. A survey has the most costs, and any record of `contend clock`, `latency`, `noise`, `ring` or `core` has some.
/// The last survey is drawn with the user-supplied locks that `contend latency` measured on the same machine. This
/// command measures nothing.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// File with a record (- is standard input), or an archived record [default: the last survey]
    #[arg(value_name = "RECORD", value_hint = ValueHint::FilePath)]
    record: Option<String>,
}

/// The ladder as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    record: &'a str,
    machine: String,
    #[serde(flatten)]
    ladder: &'a Ladder,
}

/// Draws the ladder of a record: as SVG or PNG into a file with such a suffix, otherwise as text or as `--format`
/// selects.
///
/// # Errors
/// There is no such record, it has no cost, or the picture cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let kind = Kind::of(shared)?;
    let Chosen { source, further } = choice::chosen(flags.record.as_deref(), shared)?;
    let ladder = Reading::of(&source)?.ladder().with_context(|| nothing(&source))?;
    let ladder = choice::with_user_supplied(ladder, &further);
    let machine = report::machine(&source.environment);
    if let Some(kind) = kind {
        kind.write(&report::ladder_file(&ladder, &machine, report::time(&source.environment).as_deref()), shared)?;
        return Ok(Outcome::Done);
    }
    let answer = Answer { record: &source.name, machine, ladder: &ladder };
    Destination::of_view(shared)?.present(&answer, &ladder.costs, |page| letters(&answer, page))?;
    Ok(Outcome::Done)
}

fn nothing(source: &Source) -> String {
    format!(
        "{}: a record of {} has no costs to draw; name a record of survey, clock, latency, noise, ring or core",
        source.name, source.experiment
    )
}

/// Draws a heading, the axis, and a line for each cost.
fn letters(answer: &Answer<'_>, page: &Page) -> String {
    let rest = format!("waiting: {}", answer.machine);
    terminal::wrapped("Costs of", "", &escaped(&rest), page) + &answer.ladder.letters(page)
}
