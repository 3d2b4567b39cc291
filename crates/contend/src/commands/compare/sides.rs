//! The choice of the two records: two that are named, or one and a baseline.

use super::flags::Flags;
use super::operand::Operand;
use crate::commands::{baseline, parameters};
use anyhow::bail;
use archive::{Baseline, Catalogue};
use harness::UsageError;

/// The meaning of the flags.
pub enum Sides<'a> {
    Named([&'a String; 2]),
    /// The record, and the baseline's name; `None` is the one in use.
    Baseline(&'a str, Option<&'a str>),
}

impl<'a> Sides<'a> {
    /// Interprets the flags.
    ///
    /// # Errors
    /// There are both a baseline and two records.
    pub fn of(flags: &'a Flags) -> Result<Self, UsageError> {
        match (&flags.a, &flags.b, &flags.baseline) {
            (Some(a), Some(b), None) => Ok(Self::Named([a, b])),
            (Some(_), Some(_), Some(name)) => Err(UsageError(format!(
                "--baseline {name}: the baseline replaces record A, so only record B can be given; omit the other one"
            ))),
            (one, _, name) => Ok(Self::Baseline(one.as_deref().unwrap_or("last"), name.as_deref())),
        }
    }

    /// Returns whether all named records are files.
    pub fn are_files(&self) -> bool {
        match self {
            Self::Named(names) => names.iter().all(|name| record::is_file(name)),
            Self::Baseline(..) => false,
        }
    }

    /// Finds A and B.
    ///
    /// # Errors
    /// They cannot be found or read, or the baseline has nothing of B's experiment.
    pub fn found(&self, archive: Option<&Catalogue>) -> anyhow::Result<[Operand; 2]> {
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
