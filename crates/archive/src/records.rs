//! Reading of many records: each is read only if it is not too large, and is in memory only while a callback uses it.
//!
//! A record that is fetched is taken only if it can be read as it will be read later; `verify` lists those that cannot.

use crate::git::Git;
use crate::listing::{Entry, RECORDS, Skipped};
use crate::manifest::Manifest;
use crate::objects::{self, Header, MOST_BESIDE, is_hash};
use anyhow::{Context, anyhow, ensure};
use record::{MOST_BYTES, Record, SCHEMA};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::Path;

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

/// A record with all objects that its name is the hash of, as text: the form in which it is transferred without Git
/// between two archives.
///
/// The name is the hash of the commit, which has the hash of the tree, which has those of both files. So a program that
/// requested a name, and computes the hash of the received text, knows that it is unchanged, whichever way it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortableRecord {
    /// The name of the record: the commit's hash.
    pub id: String,
    /// The commit's text, with the summary in it.
    pub commit: String,
    pub manifest: String,
    pub record: String,
}

impl PortableRecord {
    /// Returns the number of bytes of all its text.
    pub fn bytes(&self) -> usize {
        self.commit.len() + self.manifest.len() + self.record.len()
    }

    /// Checks that no part is larger than the archive would read later.
    ///
    /// # Errors
    /// A part is too large; the error has its size.
    pub fn check_size(&self) -> anyhow::Result<()> {
        for (name, part, most) in [
            ("commit", &self.commit, MOST_BESIDE),
            ("manifest", &self.manifest, MOST_BESIDE),
            ("record", &self.record, MOST_BYTES),
        ] {
            ensure!(part.len() as u64 <= most, "its {name} is too large: {} bytes; allowed: {most}", part.len());
        }
        Ok(())
    }
}

/// A record whose content does not match its name.
pub struct Refused {
    pub id: String,
    pub reason: anyhow::Error,
}

/// Returns the record of this name.
///
/// The recipient checks its hashes.
///
/// # Errors
/// It does not exist, or is not a record.
pub fn read_portable(git: &Git, id: &str) -> anyhow::Result<PortableRecord> {
    ensure!(is_hash(id), "{id:?} is not a record ID");
    let names = [id.to_owned(), format!("{id}:{MANIFEST_FILE}"), format!("{id}:{RECORD_FILE}")];
    let expected = [("commit", MOST_BESIDE), ("blob", MOST_BESIDE), ("blob", MOST_BYTES)];
    // The objects of other references are not part of the record.
    let reference = format!("{RECORDS}{id}");
    let found = git.line(&["for-each-ref", "--format=%(objectname)", &reference], &[])?;
    ensure!(found == id, "no record {id}");
    let headers = objects::headers(git, &names)?;
    for (header, (kind, most)) in headers.iter().zip(expected) {
        check(header.as_ref(), kind, most).with_context(|| format!("record {id}: cannot read it"))?;
    }
    let mut parts = Vec::new();
    objects::contents(git, &names, |_, content| {
        parts.push(content.and_then(|content| Ok(String::from_utf8(content)?)));
    });
    let parts = parts.into_iter().collect::<anyhow::Result<Vec<String>>>();
    let parts: Option<[String; 3]> = parts.with_context(|| format!("record {id}: cannot read it"))?.try_into().ok();
    let [commit, manifest, record] = parts.with_context(|| format!("record {id}: cannot read all of it"))?;
    Ok(PortableRecord { id: id.to_owned(), commit, manifest, record })
}

fn check(header: Option<&Header>, kind: &str, most: u64) -> anyhow::Result<()> {
    let header = header.context("a part is missing")?;
    ensure!(header.kind == kind && header.bytes <= most, "a part has type {} and {} bytes", header.kind, header.bytes);
    Ok(())
}

/// Writes these records into a temporary repository, with references; returns those that do not match their names,
/// which get no reference.
pub fn write_portable(git: &Git, portables: &[PortableRecord]) -> anyhow::Result<Vec<Refused>> {
    // The repository is deleted afterwards, and the objects that the archive takes from it are synced there.
    git.local(&["config", "core.fsync", "none"], &[])?;
    let trees = trees(git, portables)?;
    let (mut refused, mut references) = (Vec::new(), String::new());
    for (portable, tree) in portables.iter().zip(&trees) {
        match commit(git, portable, tree) {
            Ok(()) => references += &format!("create {RECORDS}{0} {0}\n", portable.id),
            Err(reason) => refused.push(Refused { id: portable.id.clone(), reason }),
        }
    }
    git.local(&["update-ref", "--stdin"], references.as_bytes())?;
    Ok(refused)
}

/// Writes the trees of the files in one call.
fn trees(git: &Git, portables: &[PortableRecord]) -> anyhow::Result<Vec<String>> {
    let files: Vec<&[u8]> =
        portables.iter().flat_map(|portable| [portable.manifest.as_bytes(), portable.record.as_bytes()]).collect();
    let hashes = blobs(git, &files)?;
    let tree = |pair: &[String]| {
        let line = |(hash, name): (&String, &str)| format!("100644 blob {hash}\t{name}\n");
        pair.iter().zip([MANIFEST_FILE, RECORD_FILE]).map(line).collect::<String>() + "\n"
    };
    let requests: String = hashes.chunks(2).map(tree).collect();
    let trees: Vec<String> =
        git.line(&["mktree", "--batch"], requests.as_bytes())?.lines().map(str::to_owned).collect();
    ensure!(trees.len() == portables.len(), "git mktree: {} trees of {} records", trees.len(), portables.len());
    Ok(trees)
}

fn blobs(git: &Git, files: &[&[u8]]) -> anyhow::Result<Vec<String>> {
    let drafts = tempfile::Builder::new().prefix("parts-").tempdir_in(git.folder())?;
    let mut paths = String::new();
    for (place, content) in files.iter().enumerate() {
        let path = drafts.path().join(place.to_string());
        fs::write(&path, content)?;
        paths += &format!("{}\n", utf8(&path)?);
    }
    let hashes = git.line(&["hash-object", "-w", "--no-filters", "--stdin-paths"], paths.as_bytes())?;
    let hashes: Vec<String> = hashes.lines().map(str::to_owned).collect();
    ensure!(hashes.len() == files.len(), "git hash-object: {} hashes of {} files", hashes.len(), files.len());
    Ok(hashes)
}

fn utf8(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("the archive's path is not UTF-8")
}

fn commit(git: &Git, portable: &PortableRecord, tree: &str) -> anyhow::Result<()> {
    ensure!(is_hash(&portable.id), "{:?} is not a record ID", portable.id);
    portable.check_size()?;
    let mut lines = portable.commit.lines();
    ensure!(
        lines.next().and_then(|line| line.strip_prefix("tree ")) == Some(tree),
        "its files are not those that its commit names: the record was modified in transit"
    );
    ensure!(lines.next().is_some_and(|line| line.starts_with("author ")), "its commit is not that of a record");
    let found = git.line(&["hash-object", "-w", "-t", "commit", "--stdin"], portable.commit.as_bytes())?;
    ensure!(found == portable.id, "its hash is {found}: the record was modified in transit");
    Ok(())
}
