//! Records found for other commands: by name, by content.

use crate::archive::Archive;
use crate::names::{Name, revision_here};
use crate::summary::Entry;
use anyhow::Context;
use serde_json::Value;

/// The record that a name means which is no file's, and its content.
///
/// # Errors
/// There is no archive, or none is called so, or several are, or it cannot be read.
pub fn recalled(archive: Option<&Archive>, name: &str) -> anyhow::Result<(Entry, Vec<u8>)> {
    let archive =
        archive.with_context(|| format!("{name}: no such file, and there is no archive with a record called so"))?;
    let entry = named(archive, name)?;
    let content = archive.record(&entry.id)?;
    Ok((entry, content))
}

/// The record that a name means.
///
/// # Errors
/// None is called so, or several are.
pub fn named(archive: &Archive, name: &str) -> anyhow::Result<Entry> {
    Ok(Name::of(name).among(&archive.entries()?, revision_here)?.clone())
}

/// What a file is to an archive.
pub enum Likeness {
    /// This record, byte for byte.
    Same(Entry),
    /// The same run as this record, and not the same bytes.
    Changed(Entry),
    Unknown,
}

/// What the archive knows of a record with this content.
///
/// # Errors
/// A record that cannot be read.
pub fn kept_as(content: &[u8], archive: &Archive, entries: &[Entry]) -> anyhow::Result<Likeness> {
    let parsed: Value = serde_json::from_slice(content).unwrap_or_default();
    let environment = &parsed["environment"];
    let run = (environment["seed"].as_u64(), environment["started_unix_s"].as_u64());
    let same_run = |entry: &&Entry| run == (Some(entry.summary.seed), Some(entry.summary.started_unix_s));
    for entry in entries.iter().filter(same_run) {
        if archive.record(&entry.id)? == content {
            return Ok(Likeness::Same(entry.clone()));
        }
    }
    Ok(entries.iter().find(same_run).map_or(Likeness::Unknown, |entry| Likeness::Changed(entry.clone())))
}
