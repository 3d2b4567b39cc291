//! The ladder of a record: every experiment that it has rows of offers its costs.

use anyhow::Context;
use record::{Ladder, Source};
use serde_json::Value;

/// What the rows of these experiments cost; `None` where nothing of it can stand on a ladder.
///
/// # Errors
/// A row that is not as its experiment writes it.
pub fn ladder<'a>(parts: impl IntoIterator<Item = (&'a str, &'a [Value])>) -> anyhow::Result<Option<Ladder>> {
    let mut costs = Vec::new();
    for (experiment, rows) in parts {
        if let Some(entry) = experiments::named(experiment) {
            costs.extend(entry.costs(rows).with_context(|| format!("cannot read the costs of {experiment}"))?);
        }
    }
    Ok(Ladder::of(costs))
}

/// The same of a record.
///
/// # Errors
/// As [`ladder`].
pub fn of(source: &Source) -> anyhow::Result<Option<Ladder>> {
    ladder(source.parts.iter().map(|(experiment, rows)| (experiment.as_str(), rows.as_slice())))
}
