//! The records whose costs are drawn: one that is named; or the last survey of the archive, and the user-supplied locks
//! that were measured on the same machine.

use crate::commands::reading::Reading;
use crate::commands::{archived, survey_record};
use anyhow::{Context, bail};
use archive::{Catalogue, Entry, Location, Summary};
use harness::SharedFlags;
use record::{Cost, Ladder, Source, content, is_file, understand};
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;

/// The records of a ladder.
pub struct Chosen {
    pub source: Source,
    /// Records of `contend latency` with user-supplied locks, the newest first.
    pub further: Vec<Source>,
}

/// The maximum number of records that are searched for user-supplied locks.
const MOST_SEARCHED: usize = 16;

/// Returns the records to draw.
///
/// # Errors
/// There is no such record, no archive, or no survey in it.
pub fn chosen(name: Option<&str>, shared: &SharedFlags) -> anyhow::Result<Chosen> {
    let only = |source| Chosen { source, further: Vec::new() };
    if let Some(file) = name.filter(|name| is_file(name)) {
        let (name, content) = content(Path::new(file))?;
        return understand(&name, &content).map(only);
    }
    let location = Location::of(shared.archive.as_deref());
    let archive = archived::at(&location)?;
    match name {
        Some(name) => {
            let (entry, content) = archive.with_context(|| archived::none_for(name))?.recalled(name)?;
            understand(entry.short_id(), &content).map(only)
        }
        None => last_survey(archive),
    }
}

fn last_survey(archive: Option<Catalogue>) -> anyhow::Result<Chosen> {
    const HOW: &str = "run `contend` to make one, or name another record with `contend ladder RECORD`";
    let Some(archive) = archive else { bail!("no survey to draw: there is no archive; {HOW}") };
    let last = archive.entries.iter().rev().find(|entry| entry.summary.experiment == survey_record::NAME);
    let entry = last.with_context(|| format!("no survey to draw: the archive contains none; {HOW}"))?;
    let read = |entry: &Entry| understand(entry.short_id(), &archive.archive.record(&entry.id)?);
    // The path of an object has a slash or the ending of one, in any spelling of the option.
    let names_object =
        |summary: &Summary| summary.command_line.iter().skip(1).any(|word| word.contains('/') || word.contains(".so"));
    let is_further = |other: &&Entry| {
        let summary = &other.summary;
        summary.experiment == "latency" && summary.host == entry.summary.host && names_object(summary)
    };
    // One that cannot be read, perhaps of another version, costs the survey nothing.
    let further = archive.entries.iter().rev().filter(is_further).take(MOST_SEARCHED).flat_map(read);
    Ok(Chosen { source: read(entry)?, further: further.collect() })
}

/// Adds the costs of locks that the records have from shared objects, those of the newest record of each lock. A lock that
/// does not exclude there has none, and an older record's costs are not of the same lock.
pub fn with_user_supplied(ladder: Ladder, records: &[Source]) -> Ladder {
    let mut costs = ladder.costs;
    let mut known: HashSet<String> = costs.iter().filter_map(|cost| cost.lock.clone()).collect();
    for source in records {
        let objects = source.parameters.get("object_sha256").and_then(Value::as_object);
        let objects = objects.into_iter().flat_map(|objects| objects.keys());
        let new: HashSet<String> = objects.filter(|object| !known.contains(*object)).cloned().collect();
        // A row is in the format of another version.
        let Ok(reading) = Reading::of(source) else { continue };
        let found = reading.ladder().map_or_else(Vec::new, |ladder| ladder.costs);
        let is_new = |cost: &Cost| cost.lock.as_ref().is_some_and(|lock| new.contains(lock));
        let found = found.into_iter().filter(is_new);
        costs.extend(found.map(|cost| Cost { figure: format!("{}; record {}", cost.figure, source.name), ..cost }));
        known.extend(new);
    }
    Ladder::of(costs).expect("it had a cost before")
}
