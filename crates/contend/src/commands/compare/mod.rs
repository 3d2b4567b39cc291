//! `contend compare`: two records held against each other. It reads records and never measures.
//!
//! What others do was looked at first. benchstat compares sets of runs by a rank test, and needs at least four runs a
//! side to say anything. criterion resamples one run, so that any difference between two runs of the same beyond a
//! fixed threshold is a "regression". critcmp prints ratios and leaves the rest to the reader. Here a single run a side
//! must do, since that is what people have, and nothing may be called different because it was run twice: so the
//! interval of a ratio has, beside the uncertainty within the runs, how much runs of the same differ. That is taken
//! from the archive, which has them, and moderated by what was measured in general.

mod comparison;
mod differences;
mod judgement;
mod limit;
mod markdown;
mod operand;
mod prior_runs;
mod show;

pub use differences::environments as environment_differences;
pub use judgement::{Judgement, Pair, judged};
pub use prior_runs::PriorRuns;

use crate::commands::archived;
use crate::output::Destination;
use archive::{Catalogue, Location};
use harness::{Outcome, output};

use clap::Args;
use comparison::Comparison;
use harness::{Format, SharedFlags};
use limit::Limit;
use operand::Operand;

/// Two records: what differs beside the figures, then which cells are faster, slower, or not shown to differ
///
/// A record is a file that `--format json` wrote, or one of the archive: the first digits of its hash, `last`,
/// `last~3`, a revision of contend's sources. Exit status 3: a limit of --fail-if is exceeded.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// What is held against: a file (- is standard input) or a record of the archive
    #[arg(value_name = "A")]
    a: String,

    /// What is held against it
    #[arg(value_name = "B")]
    b: String,

    /// Exit with 3 if a cell is shown to be slower by more than that: slower:5%, faster:5%, differs:5%
    #[arg(long, value_name = "LIMIT", value_delimiter = ',')]
    fail_if: Vec<Limit>,
}

/// Compares and says what came out.
///
/// # Errors
/// Records that cannot be found, read or compared; a place that cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let destination = Destination::of_view(shared)?;
    let archive = prior_archive([&flags.a, &flags.b], shared)?;
    let (a, b) = (Operand::find(&flags.a, archive.as_ref())?, Operand::find(&flags.b, archive.as_ref())?);
    operand::check(&a, &b)?;
    let comparison = Comparison::of(&a, &b, archive.as_ref(), &flags.fail_if)?;
    match shared.format {
        Format::Markdown => destination.present_text(&markdown::text(&comparison))?,
        _ => destination.present(&comparison, &comparison.cells, |page| show::text(&comparison, page))?,
    }
    if comparison.exceeded.is_empty() {
        return Ok(Outcome::Done);
    }
    comparison.exceeded.iter().for_each(|found| output::eprint_line(&format!("--fail-if {found}")));
    Ok(Outcome::Exceeded)
}

/// The archive, if there is one. Files are compared without one that cannot be read.
///
/// # Errors
/// An archive that cannot be read, where a record of it is asked for.
pub fn prior_archive<'a>(
    names: impl IntoIterator<Item = &'a String>,
    shared: &SharedFlags,
) -> anyhow::Result<Option<Catalogue>> {
    match archived::at(&Location::of(shared.archive.as_deref())) {
        Err(error) if names.into_iter().all(|name| record::is_file(name)) => {
            if !shared.quiet {
                output::eprint_line(&format!("warning: compared without other runs of the same: {error:#}"));
            }
            Ok(None)
        }
        found => found,
    }
}
