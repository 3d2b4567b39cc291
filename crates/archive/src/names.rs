//! Names of records on the command line: an abbreviated hash, `last`, `last~3`, a revision of the sources.

use crate::git;
use crate::summary::Entry;
use anyhow::{bail, ensure};

/// A name that has not been looked up yet.
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
pub fn revision_here(text: &str) -> Option<String> {
    git::here(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{text}^{{commit}}")])
}

fn kept(count: usize) -> String {
    format!("the archive has only {count} matching record{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Summary;

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
