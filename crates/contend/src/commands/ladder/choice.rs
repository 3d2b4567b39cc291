//! The record whose ladder is drawn: one that is named, or the last survey of the archive.

use crate::commands::{archived, survey_record};
use anyhow::{Context, bail};
use archive::{Catalogue, Location};
use harness::SharedFlags;
use record::{Source, content, is_file, understand};
use std::path::Path;

/// Returns the record to draw.
///
/// # Errors
/// There is no such record, no archive, or no survey in it.
pub fn source(name: Option<&str>, shared: &SharedFlags) -> anyhow::Result<Source> {
    if let Some(file) = name.filter(|name| is_file(name)) {
        let (name, content) = content(Path::new(file))?;
        return understand(&name, &content);
    }
    let location = Location::of(shared.archive.as_deref());
    let archive = archived::at(&location)?;
    match name {
        Some(name) => {
            let (entry, content) = archive.with_context(|| archived::none_for(name))?.recalled(name)?;
            understand(entry.short_id(), &content)
        }
        None => last_survey(archive),
    }
}

fn last_survey(archive: Option<Catalogue>) -> anyhow::Result<Source> {
    const HOW: &str = "run `contend` to make one, or name another record with `contend ladder RECORD`";
    let Some(archive) = archive else { bail!("no survey to draw: there is no archive; {HOW}") };
    let last = archive.entries.iter().rev().find(|entry| entry.summary.experiment == survey_record::NAME);
    let entry = last.with_context(|| format!("no survey to draw: the archive contains none; {HOW}"))?;
    understand(entry.short_id(), &archive.archive.record(&entry.id)?)
}
