//! An archive with the list of its records, read once, in which other commands find records by name or by content; and
//! the names.

use crate::archive::Archive;
use crate::git;
use crate::listing::{Entry, Listing};
use anyhow::{bail, ensure};
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

/// A name of a record on the command line, not looked up yet: an abbreviated hash, `last`, `last~3`, a revision of the
/// sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// The number of records after it.
    Last(usize),
    /// Digits of a hash, or a revision that Git may know.
    Other(String),
}

impl Name {
    pub fn of(text: &str) -> Self {
        let back = match text.strip_prefix("last") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('~').and_then(|number| number.parse().ok()),
            None => None,
        };
        back.map_or_else(|| Self::Other(text.to_owned()), Self::Last)
    }

    /// Finds the record among `entries`, the oldest of which comes first.
    ///
    /// `revision_of` returns the full hash of a revision.
    ///
    /// # Errors
    /// No record has this name, or several do.
    pub fn among<'a>(
        &self,
        entries: &'a [Entry],
        revision_of: impl Fn(&str) -> Option<String>,
    ) -> anyhow::Result<&'a Entry> {
        ensure!(!entries.is_empty(), "no matching record in the archive; `contend history` lists records");
        let text = match self {
            Self::Last(back) => {
                let place = entries.len().checked_sub(1).and_then(|last| last.checked_sub(*back));
                let Some(place) = place else { bail!("last~{back}: {}", kept(entries.len())) };
                return Ok(&entries[place]);
            }
            Self::Other(text) => text,
        };
        let is_hash = text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let matching: Vec<&Entry> =
            entries.iter().filter(|entry| is_hash && entry.id.starts_with(&text.to_lowercase())).collect();
        match matching[..] {
            [one] => return Ok(one),
            [] => {}
            _ => bail!("{text}: {} record IDs start with these digits; give more digits", matching.len()),
        }
        let revision = revision_of(text);
        let built = |mark: &str| {
            let wanted = revision.as_ref().map(|revision| revision.clone() + mark)?;
            entries.iter().rev().find(|entry| entry.summary.revision.as_ref() == Some(&wanted))
        };
        match (built("").or_else(|| built("+")), &revision) {
            (Some(entry), _) => Ok(entry),
            (None, Some(revision)) => {
                bail!("{text}: no record of a build of revision {revision}; `contend history` lists records")
            }
            (None, None) => bail!(
                "{text}: not a file, a record, or a revision in the archive; `contend history` lists records; `last` \
                 and `last~3` count back from the newest"
            ),
        }
    }
}

/// Returns the full hash of a revision of the repository of the working directory.
fn revision_here(text: &str) -> Option<String> {
    git::here(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{text}^{{commit}}")])
}

fn kept(count: usize) -> String {
    format!("the archive has only {count} matching record{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::Summary;

    fn entry(id: &str, revision: Option<&str>) -> Entry {
        let summary = Summary {
            experiment: "clock".into(),
            host: "here".into(),
            started_unix_s: 0,
            kept_unix_ns: 0,
            revision: revision.map(str::to_owned),
            command_line: Vec::new(),
            seed: 0,
            results: 1,
            warnings: 0,
            interrupted: false,
        };
        Entry { id: id.into(), summary }
    }

    #[test]
    fn records_are_found_by_position_digits_and_revision() {
        let entries = [entry("abcd11", Some("f00d+")), entry("abcd22", Some("f00d")), entry("beef33", None)];
        let found = |name: &str| {
            let revision_of = |text: &str| (text == "main").then(|| "f00d".to_owned());
            Name::of(name).among(&entries, revision_of).map(|entry| entry.id.clone()).map_err(|error| error.to_string())
        };
        assert_eq!(found("last").unwrap(), "beef33");
        assert_eq!(found("last~2").unwrap(), "abcd11");
        for beyond in ["last~3".to_owned(), format!("last~{}", usize::MAX)] {
            assert!(found(&beyond).unwrap_err().contains("only 3"), "{beyond}");
        }
        assert_eq!(found("BEEF").unwrap(), "beef33");
        assert!(found("abcd").unwrap_err().contains("give more"));
        // An unchanged build comes before a changed one.
        assert_eq!(found("main").unwrap(), "abcd22");
        assert!(found("last~x").unwrap_err().contains("not a file, a record, or a revision"));
    }
}
