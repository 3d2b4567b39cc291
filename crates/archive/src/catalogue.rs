//! An archive with the list of its records, read once, in which other commands find records by name or by content.

use crate::archive::Archive;
use crate::listing::Listing;
use crate::names::{Name, revision_here};
use crate::summary::Entry;
use serde_json::Value;

/// An archive and its records.
#[derive(Clone, Debug)]
pub struct Catalogue {
    pub archive: Archive,
    /// The records, the oldest first.
    pub entries: Vec<Entry>,
    /// A message for each reference among the records that is not a record.
    pub complaints: Vec<String>,
}

/// The relation of a file to the archive.
pub enum StoredAs {
    /// The file is this record, byte for byte.
    Same(Entry),
    /// The file is of the same run as this record, but has other bytes.
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

    /// Returns the record that a name means.
    ///
    /// # Errors
    /// No record has this name, or several do.
    pub fn named(&self, name: &str) -> anyhow::Result<&Entry> {
        Name::of(name).among(&self.entries, revision_here)
    }

    /// Returns the record that a name means, and its content.
    ///
    /// # Errors
    /// No record has this name, several do, or it cannot be read.
    pub fn recalled(&self, name: &str) -> anyhow::Result<(Entry, Vec<u8>)> {
        let entry = self.named(name)?;
        Ok((entry.clone(), self.archive.record(&entry.id)?))
    }

    /// Returns how a record with this content is stored.
    ///
    /// A record that cannot be read counts as different.
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
