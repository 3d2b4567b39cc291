//! Classification of references into records and others. A reference that is not a record obstructs nothing.

use crate::git::Git;
use crate::manifest::Manifest;
use crate::objects::{self, Header, MOST_BESIDE, is_hash};
use crate::shell::quoted;
use anyhow::{Context, anyhow, bail, ensure};
use record::Record;
use serde::{Deserialize, Serialize};

/// The prefix of the references: one for each record, named by the hash that it points to.
pub const RECORDS: &str = "refs/records/";

/// A reference, whatever program made it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    pub hash: String,
    pub name: Vec<u8>,
}

/// A reference that is not a record, or a record that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The name of the reference, quoted for a shell.
    pub reference: String,
    pub reason: String,
}

/// The records, the oldest first, and the other references among them.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub entries: Vec<Entry>,
    pub skipped: Vec<Skipped>,
}

impl Reference {
    /// Returns whether the name is the hash, as for a record.
    pub fn is_named_by_its_hash(&self) -> bool {
        is_hash(&self.hash) && self.name.strip_prefix(RECORDS.as_bytes()) == Some(self.hash.as_bytes())
    }

    pub fn skipped(&self, reason: &anyhow::Error) -> Skipped {
        Skipped { reference: quoted(&self.name), reason: format!("{reason:#}") }
    }
}

impl Skipped {
    /// Returns the skipped record of an entry.
    pub fn record(id: &str, reason: &anyhow::Error) -> Self {
        Self { reference: format!("{RECORDS}{id}"), reason: format!("{reason:#}") }
    }

    /// Returns whether this is the entry.
    pub fn is(&self, entry: &Entry) -> bool {
        self.reference.strip_prefix(RECORDS) == Some(&entry.id)
    }
}

/// Returns all references below the prefix of records.
pub fn references(git: &Git) -> anyhow::Result<Vec<Reference>> {
    below(git, RECORDS)
}

/// Returns all references whose names begin with `start`.
pub fn below(git: &Git, start: &str) -> anyhow::Result<Vec<Reference>> {
    let answer = git.local(&["for-each-ref", "--format=%(objectname) %(refname)", start], &[])?;
    let reference = |line: &[u8]| {
        let space = line.iter().position(|byte| *byte == b' ')?;
        Some(Reference { hash: String::from_utf8_lossy(&line[..space]).into_owned(), name: line[space + 1..].to_vec() })
    };
    Ok(answer.split(|byte| *byte == b'\n').filter_map(reference).collect())
}

/// Classifies these references by their names and their commits.
///
/// No record is opened.
pub fn listing(git: &Git, references: &[Reference]) -> anyhow::Result<Listing> {
    let mut listing = Listing::default();
    let (named, strange): (Vec<&Reference>, Vec<&Reference>) =
        references.iter().partition(|reference| reference.is_named_by_its_hash());
    for reference in strange {
        let reason = anyhow!(
            "points to {}, which does not match its name: the record was replaced, or never was one",
            reference.hash
        );
        listing.skipped.push(reference.skipped(&reason));
    }
    let hashes: Vec<String> = named.iter().map(|reference| reference.hash.clone()).collect();
    let mut commits = Vec::new();
    for (reference, header) in named.iter().zip(objects::headers(git, &hashes)?) {
        match commit(header) {
            Ok(()) => commits.push(*reference),
            Err(reason) => listing.skipped.push(reference.skipped(&reason)),
        }
    }
    let hashes: Vec<String> = commits.iter().map(|reference| reference.hash.clone()).collect();
    objects::contents(git, &hashes, |place, content| match content.and_then(|content| summary(&content)) {
        Ok(summary) => listing.entries.push(Entry { id: hashes[place].clone(), summary }),
        Err(reason) => listing.skipped.push(commits[place].skipped(&reason)),
    });
    listing.entries.sort_by(|a, b| (a.summary.kept_unix_ns, &a.id).cmp(&(b.summary.kept_unix_ns, &b.id)));
    Ok(listing)
}

fn commit(header: Option<Header>) -> anyhow::Result<()> {
    let header = header.context("points to a missing object")?;
    ensure!(header.kind == "commit", "points to an object of type {}, not to a commit", header.kind);
    ensure!(header.bytes <= MOST_BESIDE, "points to a commit of {} bytes, which is too large", header.bytes);
    Ok(())
}

/// Returns the summary in a commit: the line of JSON after the first line of its message.
fn summary(commit: &[u8]) -> anyhow::Result<Summary> {
    let text = String::from_utf8_lossy(commit);
    let body = text.split_once("\n\n").and_then(|(_, message)| message.split_once("\n\n"));
    let Some((_, body)) = body else { bail!("has no summary, so it is not a record") };
    serde_json::from_str(body.trim_end()).context("has an invalid summary")
}

/// A record in the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The commit's hash, which is the record's name.
    pub id: String,
    #[serde(flatten)]
    pub summary: Summary,
}

/// The summary of a record in a list: a line of JSON in the commit's message, so that listing opens no record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub experiment: String,
    pub host: String,
    pub started_unix_s: u64,
    /// The time in nanoseconds, which orders the records.
    pub kept_unix_ns: u64,
    /// The revision of the sources that the binary was built from, with a `+` if they had been changed.
    pub revision: Option<String>,
    pub command_line: Vec<String>,
    pub seed: u64,
    pub results: usize,
    pub warnings: usize,
    pub interrupted: bool,
}

impl Summary {
    pub fn of<P, R>(record: &Record<P, R>, manifest: &Manifest, kept_unix_ns: u64) -> Self {
        let environment = &record.environment;
        Self {
            experiment: record.experiment.clone(),
            host: manifest.host.clone(),
            started_unix_s: environment.started_unix_s,
            kept_unix_ns,
            revision: manifest.build.revision.clone(),
            command_line: environment.command_line.clone(),
            seed: environment.seed,
            results: record.results.len(),
            warnings: record.warnings.len(),
            interrupted: environment.interrupted,
        }
    }
}

impl Entry {
    /// Returns the first digits of the name.
    pub fn short_id(&self) -> &str {
        short(&self.id)
    }
}

/// Returns enough digits to distinguish ten thousand records.
pub fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}
