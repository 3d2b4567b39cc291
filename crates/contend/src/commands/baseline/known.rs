//! The baselines of an archive, and the choice of one.

use crate::commands::archived;
use anyhow::Context;
use archive::{Baseline, Catalogue};
use harness::UsageError;

/// Returns the readable baselines; the reasons for the others are printed on stderr.
pub fn readable(catalogue: &Catalogue) -> anyhow::Result<Vec<Baseline>> {
    let (good, bad) = catalogue.archive.baselines().all(&catalogue.entries)?;
    archived::complain("was skipped", &bad);
    Ok(good)
}

/// Returns the baseline of this name, or the one in use.
///
/// # Errors
/// It does not exist; the error lists those that do.
pub fn named(all: Vec<Baseline>, name: Option<&str>) -> anyhow::Result<Baseline> {
    let names: Vec<String> = all.iter().map(|baseline| baseline.name.clone()).collect();
    let known = match &names[..] {
        [] => "no baseline exists; `contend baseline save NAME` saves the last record as one".to_owned(),
        names => format!("existing baselines: {}", names.join(", ")),
    };
    match name {
        Some(name) => {
            let found = all.into_iter().find(|baseline| baseline.name == name);
            found.with_context(|| format!("no baseline has the name {name:?}; {known}"))
        }
        None => {
            let found = all.into_iter().find(|baseline| baseline.is_used);
            found.ok_or_else(|| {
                UsageError(format!(
                    "no record to compare with: record A is missing, and no baseline is in use; name two records, as in \
                     `contend compare last~1 last`, or select a baseline with `contend baseline use NAME` ({known})"
                ))
                .into()
            })
        }
    }
}
