//! `contend compare`: a comparison of two records. It reads records and never measures.
//!
//! Other tools were examined first. benchstat compares sets of runs by a rank test, and needs at least four runs a side
//! for any result. criterion resamples one run, so that any difference between two runs of the same beyond a fixed
//! threshold is a "regression". Finally, critcmp prints ratios and leaves the rest to the reader. Here a single run on
//! each side must suffice, since that is what users have, and nothing may be called different because it was run twice.
//! So the interval of a ratio includes, in addition to the uncertainty within the runs, the variation between runs of
//! the same. That is taken from the archive, which has them, and moderated by general measurements.

mod comparison;
mod differences;
mod flags;
mod judgement;
mod limit;
mod markdown;
mod operand;
mod prior_runs;
#[cfg(test)]
mod promise;
mod show;
mod sides;

pub use differences::environments as environment_differences;
pub use flags::Flags;
pub use judgement::{Judgement, Pair, judged};
pub use prior_runs::PriorRuns;

use crate::commands::archived;
use crate::output::Destination;
use archive::{Catalogue, Location};
use harness::{Outcome, output};

use comparison::Comparison;
use harness::{Format, SharedFlags};
use sides::Sides;

/// Compares the records and presents the result.
///
/// # Errors
/// Records cannot be found, read or compared, or the output cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let destination = Destination::of_view(shared)?;
    let sides = Sides::of(flags)?;
    let archive = archive_beside(sides.are_files(), shared)?;
    let [a, b] = sides.found(archive.as_ref())?;
    operand::check(&a, &b)?;
    let comparison = Comparison::of(&a, &b, archive.as_ref(), &flags.fail_if)?;
    match shared.format {
        Format::Markdown => destination.present_text(&markdown::text(&comparison))?,
        _ => destination.present(&comparison, &comparison.cells, |page| show::text(&comparison, page))?,
    }
    comparison.exceeded.iter().for_each(|found| output::eprint_line(&format!("--fail-if {found}")));
    comparison.not_judged.iter().for_each(|found| output::eprint_line(&format!("error: --fail-if {found}")));
    if !comparison.exceeded.is_empty() {
        return Ok(Outcome::Exceeded);
    }
    if !comparison.not_judged.is_empty() {
        output::eprint_line("help: archive more runs with the flags of A, or measure for longer, and compare again");
        return Ok(Outcome::NotJudged);
    }
    if let Some(note) = comparison.partly_judged().filter(|_| !flags.fail_if.is_empty() && !shared.quiet) {
        output::eprint_line(&note);
    }
    Ok(Outcome::Done)
}

/// Opens the archive, if there is one.
///
/// Files are compared without an unreadable archive.
///
/// # Errors
/// The archive cannot be read, and a record of it is requested.
pub fn prior_archive<'a>(
    names: impl IntoIterator<Item = &'a String>,
    shared: &SharedFlags,
) -> anyhow::Result<Option<Catalogue>> {
    archive_beside(names.into_iter().all(|name| record::is_file(name)), shared)
}

fn archive_beside(all_are_files: bool, shared: &SharedFlags) -> anyhow::Result<Option<Catalogue>> {
    match archived::at(&Location::of(shared.archive.as_deref())) {
        Err(error) if all_are_files => {
            if !shared.quiet {
                output::eprint_line(&format!("warning: the comparison ignores other runs of the archive: {error:#}"));
            }
            Ok(None)
        }
        found => found,
    }
}
