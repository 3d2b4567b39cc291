//! `contend compare`: a comparison of two records. It reads records and never measures.
//!
//! Other tools were examined first. benchstat compares sets of runs by a rank test, and needs at least four runs a side
//! for any result. criterion resamples one run, so that any difference between two runs of the same beyond a fixed
//! threshold is a "regression". Finally, critcmp prints ratios and leaves the rest to the reader. Here a single run on
//! each side must suffice, since that is what users have, and nothing may be called different because it was run twice.
//! So the interval of a ratio includes, in addition to the uncertainty within the runs, the variation between runs of
//! the same. That is taken from the archive, which has them, and moderated by general measurements.

mod comparison;
mod judgement;
mod operand;
#[cfg(test)]
mod promise;
mod show;

pub use comparison::environment_differences;
pub use judgement::{General, Judgement, OtherRuns, Pair, PriorRuns, in_general, judged, needed_runs};
pub use show::with_ends;

use crate::commands::{archived, baseline, parameters};
use crate::output::Destination;
use anyhow::bail;
use archive::{Baseline, Catalogue, Location};
use clap::Args;
use comparison::{Comparison, Limit};
use harness::{Format, Outcome, SharedFlags, UsageError, output};
use operand::Operand;

/// Compare two records: faster, slower, or no difference shown
///
/// The differences of machine, build and settings come first, then each configuration: faster, slower, or not shown to
/// differ. A record is a file that --format json wrote, or an archived record: the first digits of a hash, `last`,
/// `last~3`, or a revision of contend's sources. A single record is compared with a baseline. Exit status 3: a limit of
/// --fail-if is exceeded. Exit status 4: no value could have shown a
/// change as large as a limit.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Reference record: a file (- is standard input) or an archived record [default: a baseline]
    #[arg(value_name = "A")]
    pub a: Option<String>,

    /// Record to judge [default: the last record, if neither is given]
    #[arg(value_name = "B")]
    pub b: Option<String>,

    /// Compare the only record given, or the last one, with this baseline; see `contend baseline`
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// Exit with status 3 if a configuration is shown to be slower by more than this: slower:5%, faster:5%, differs:5%
    #[arg(long, value_name = "LIMIT", value_delimiter = ',')]
    pub fail_if: Vec<Limit>,
}

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
        Format::Markdown => destination.present_text(&show::markdown(&comparison))?,
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
    if let Some(note) = comparison.partly_judged(&flags.fail_if).filter(|_| !flags.fail_if.is_empty() && !shared.quiet)
    {
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

/// The choice of the two records: two that are named, or one and a baseline.
enum Sides<'a> {
    Named([&'a String; 2]),
    /// The record, and the baseline's name; `None` is the one in use.
    Baseline(&'a str, Option<&'a str>),
}

impl<'a> Sides<'a> {
    /// Interprets the flags.
    ///
    /// # Errors
    /// There are both a baseline and two records.
    fn of(flags: &'a Flags) -> Result<Self, UsageError> {
        match (&flags.a, &flags.b, &flags.baseline) {
            (Some(a), Some(b), None) => Ok(Self::Named([a, b])),
            (Some(_), Some(_), Some(name)) => Err(UsageError(format!(
                "--baseline {name}: the baseline replaces record A, so only record B can be given; omit the other one"
            ))),
            (one, _, name) => Ok(Self::Baseline(one.as_deref().unwrap_or("last"), name.as_deref())),
        }
    }

    /// Returns whether all named records are files.
    fn are_files(&self) -> bool {
        match self {
            Self::Named(names) => names.iter().all(|name| record::is_file(name)),
            Self::Baseline(..) => false,
        }
    }

    /// Finds A and B.
    ///
    /// # Errors
    /// They cannot be found or read, or the baseline has nothing of B's experiment.
    fn found(&self, archive: Option<&Catalogue>) -> anyhow::Result<[Operand; 2]> {
        match self {
            Self::Named([a, b]) => Ok([Operand::find(a, archive)?, Operand::find(b, archive)?]),
            Self::Baseline(b, name) => {
                let none = || {
                    UsageError(
                        "no archive: a comparison needs two records, or one record and a baseline of an archive".into(),
                    )
                };
                let catalogue = archive.ok_or_else(none)?;
                let baseline = baseline::named(baseline::readable(catalogue)?, *name)?;
                let b = Operand::find(b, archive)?;
                Ok([best(&baseline, &b, catalogue)?, b])
            }
        }
    }
}

/// Returns the newest record of the baseline with B's experiment and parameters, or else the newest of the experiment;
/// not B itself.
fn best(baseline: &Baseline, b: &Operand, catalogue: &Catalogue) -> anyhow::Result<Operand> {
    let is_of_it = |entry: &&archive::Entry| {
        baseline.records.contains(&entry.id) && b.entry.as_ref().is_none_or(|own| own.id != entry.id)
    };
    let mut newest = None;
    for entry in catalogue.entries.iter().rev().filter(is_of_it) {
        if entry.summary.experiment != b.source.experiment {
            continue;
        }
        let found = Operand::find(&entry.id, Some(catalogue))?;
        if parameters::are_same(&found.source, &b.source) {
            return Ok(found.called(&baseline.name));
        }
        newest = newest.or(Some(found));
    }
    match newest {
        Some(found) => Ok(found.called(&baseline.name)),
        None => bail!(
            "baseline {}: no other record of {} to compare {} with",
            baseline.name,
            b.source.experiment,
            b.source.name
        ),
    }
}
