//! An archive with the list of what it has, read once: records found for other commands, by name, by content.

use crate::archive::Archive;
use crate::listing::Listing;
use crate::names::{Name, revision_here};
use crate::summary::Entry;
use serde_json::Value;

/// An archive and what it has.
#[derive(Clone, Debug)]
pub struct Catalogue {
    pub archive: Archive,
    /// The oldest first.
    pub entries: Vec<Entry>,
    /// Of each thing that stands where records are and is none, what a person is told.
    pub complaints: Vec<String>,
}

/// What a file is to an archive.
pub enum StoredAs {
    /// This record, byte for byte.
    Same(Entry),
    /// The same run as this record, and not the same bytes.
    Changed(Entry),
    Unknown,
}

impl Catalogue {
    /// Lists the archive.
    pub fn of(archive: Archive) -> anyhow::Result<Self> {
        let Listing { entries, skipped } = archive.listing()?;
        let complaints = skipped.iter().map(|skipped| archive.complaint(skipped)).collect();
        Ok(Self { archive, entries, complaints })
    }

    /// The record that a name means.
    ///
    /// # Errors
    /// None is called so, or several are.
    pub fn named(&self, name: &str) -> anyhow::Result<&Entry> {
        Name::of(name).among(&self.entries, revision_here)
    }

    /// The same, and its content.
    ///
    /// # Errors
    /// None is called so, or several are, or it cannot be read.
    pub fn recalled(&self, name: &str) -> anyhow::Result<(Entry, Vec<u8>)> {
        let entry = self.named(name)?;
        Ok((entry.clone(), self.archive.record(&entry.id)?))
    }

    /// What is known here of a record with this content. One that cannot be read is not the same.
    pub fn kept_as(&self, content: &[u8]) -> StoredAs {
        let parsed: Value = serde_json::from_slice(content).unwrap_or_default();
        let environment = &parsed["environment"];
        let run = (environment["seed"].as_u64(), environment["started_unix_s"].as_u64());
        let same_run = |entry: &&Entry| run == (Some(entry.summary.seed), Some(entry.summary.started_unix_s));
        let mut readable = None;
        for entry in self.entries.iter().filter(same_run) {
            match self.archive.record(&entry.id) {
                Ok(kept) if kept == content => return StoredAs::Same(entry.clone()),
                Ok(_) => readable = readable.or(Some(entry)),
                Err(_) => {}
            }
        }
        readable.map_or(StoredAs::Unknown, |entry| StoredAs::Changed(entry.clone()))
    }
}
