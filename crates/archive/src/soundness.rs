//! Whether records can be read as they are read later: what is fetched is taken only then, and `verify` says which
//! cannot.

use crate::git::Git;
use crate::listing::Skipped;
use crate::records::{self, Whole};
use crate::summary::Entry;
use anyhow::{Context, ensure};
use record::{Record, SCHEMA};
use serde::Deserialize;
use serde_json::Value;

/// Those of these records that cannot be read, and why; `read` tries those of this layout further.
///
/// # Errors
/// Git cannot be run.
pub fn unsound(
    git: &Git,
    entries: &[Entry],
    mut read: impl FnMut(&Entry, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Skipped>> {
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut wrong = Vec::new();
    records::each(git, &ids, |place, found| {
        let entry = &entries[place];
        let checked =
            found.and_then(|whole| if is_of_this_layout(entry, &whole)? { read(entry, &whole.0) } else { Ok(()) });
        wrong.extend(checked.err().map(|reason| Skipped::record(&entry.id, &reason)));
    })?;
    Ok(wrong)
}

/// A record of a newer layout is a newer contend's to read: it must say that it is one, and no more.
fn is_of_this_layout(entry: &Entry, (content, manifest): &Whole) -> anyhow::Result<bool> {
    ensure!(
        entry.summary.host == manifest.host,
        "its summary names the host {:?}, its manifest {:?}",
        entry.summary.host,
        manifest.host
    );
    record::check_size(content)?;
    let value = record::parsed(content).context("its record is not JSON")?;
    let schema = value["schema"].as_str().unwrap_or_default();
    ensure!(schema.starts_with("contend/"), "its record does not have the schema {SCHEMA:?}");
    if schema != SCHEMA {
        return Ok(false);
    }
    let record =
        Record::<Value, Value>::deserialize(&value).context("its record lacks a field that every record has")?;
    let (summary, environment) = (&entry.summary, &record.environment);
    let said = (&summary.experiment, summary.seed, summary.started_unix_s, summary.interrupted);
    let is = (&record.experiment, environment.seed, environment.started_unix_s, environment.interrupted);
    ensure!(said == is, "its summary and its record differ: {said:?} and {is:?}");
    Ok(true)
}
