//! Reading of many records: each is read only if it is not too large, and is in memory only while a callback uses it.
//!
//! A record that is fetched is taken only if it can be read as it will be read later; `verify` lists those that cannot.

use crate::git::Git;
use crate::listing::Skipped;
use crate::manifest::Manifest;
use crate::objects::{self, Header, MOST_BESIDE};
use crate::summary::Entry;
use anyhow::{Context, anyhow, ensure};
use record::{MOST_BYTES, Record, SCHEMA};
use serde::Deserialize;
use serde_json::Value;

pub const RECORD_FILE: &str = "record.json";
pub const MANIFEST_FILE: &str = "manifest.json";

/// A record's bytes and its manifest.
pub type RecordAndManifest = (Vec<u8>, Manifest);

/// Passes each of these records to `take`, in their order; or the reason why it cannot be read.
///
/// Hashes are not checked.
pub fn each(
    git: &Git,
    ids: &[&str],
    mut take: impl FnMut(usize, anyhow::Result<RecordAndManifest>),
) -> anyhow::Result<()> {
    let names: Vec<String> =
        ids.iter().flat_map(|id| [RECORD_FILE, MANIFEST_FILE].map(|file| format!("{id}:{file}"))).collect();
    let headers = objects::headers(git, &names)?;
    let checked: Vec<anyhow::Result<[String; 2]>> = headers.chunks(2).map(readable).collect();
    let requested: Vec<String> = checked.iter().flatten().flatten().cloned().collect();
    // The positions of the requested records among all.
    let places: Vec<usize> = (0..ids.len()).filter(|place| checked[*place].is_ok()).collect();
    let mut refused: Vec<Option<anyhow::Error>> = checked.into_iter().map(Result::err).collect();
    let (mut next, mut record) = (0, None);
    let mut give_to = |end: usize, found: Option<anyhow::Result<RecordAndManifest>>| {
        for (place, refused) in refused.iter_mut().enumerate().take(end).skip(next) {
            take(place, Err(refused.take().unwrap_or_else(|| anyhow!("cannot be read"))));
        }
        next = end + usize::from(found.is_some());
        found.into_iter().for_each(|found| take(end, found));
    };
    objects::contents(git, &requested, |place, content| {
        if place % 2 == 0 {
            record = Some(content);
        } else if let Some(record) = record.take() {
            give_to(places[place / 2], Some(joined(record, content)));
        }
    });
    give_to(ids.len(), None);
    Ok(())
}

fn joined(record: anyhow::Result<Vec<u8>>, manifest: anyhow::Result<Vec<u8>>) -> anyhow::Result<RecordAndManifest> {
    let manifest = serde_json::from_slice(&manifest?).with_context(|| format!("cannot read its {MANIFEST_FILE}"))?;
    Ok((record?, manifest))
}

/// Returns the hashes of a record's two files.
fn readable(headers: &[Option<Header>]) -> anyhow::Result<[String; 2]> {
    let [record, manifest] = headers else { return Err(anyhow!("does not have two files")) };
    Ok([file(record.as_ref(), RECORD_FILE, MOST_BYTES)?, file(manifest.as_ref(), MANIFEST_FILE, MOST_BESIDE)?])
}

fn file(header: Option<&Header>, name: &str, most: u64) -> anyhow::Result<String> {
    let header = header.with_context(|| format!("its {name} is missing"))?;
    ensure!(header.kind == "blob", "its {name} is not a file; it has type {}", header.kind);
    ensure!(header.bytes <= most, "its {name} is too large: {} bytes; allowed: {most}", header.bytes);
    Ok(header.hash.clone())
}

/// Returns the records that cannot be read, with the reason; `read` further tests those of this layout.
pub fn unsound(
    git: &Git,
    entries: &[Entry],
    mut read: impl FnMut(&Entry, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Skipped>> {
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut wrong = Vec::new();
    each(git, &ids, |place, found| {
        let entry = &entries[place];
        let checked =
            found.and_then(|joined| if is_of_this_layout(entry, &joined)? { read(entry, &joined.0) } else { Ok(()) });
        wrong.extend(checked.err().map(|reason| Skipped::record(&entry.id, &reason)));
    })?;
    Ok(wrong)
}

/// Returns whether a record has this layout.
///
/// A newer contend reads a record of a newer layout, which must only declare it.
fn is_of_this_layout(entry: &Entry, (content, manifest): &RecordAndManifest) -> anyhow::Result<bool> {
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
    let expected = (&summary.experiment, summary.seed, summary.started_unix_s, summary.interrupted);
    let is = (&record.experiment, environment.seed, environment.started_unix_s, environment.interrupted);
    ensure!(expected == is, "its summary and its record differ: {expected:?} and {is:?}");
    Ok(true)
}
