//! A record with all objects that its name is the hash of, as text: the form in which it is transferred without Git
//! between two archives.
//!
//! The name is the hash of the commit, which has the hash of the tree, which has those of both files. So a program that
//! requested a name, and computes the hash of the received text, knows that it is unchanged, whichever way it came.

use crate::git::Git;
use crate::listing::RECORDS;
use crate::objects::{self, Header, MOST_BESIDE, is_hash};
use crate::records::{MANIFEST_FILE, RECORD_FILE};
use anyhow::{Context, ensure};
use record::MOST_BYTES;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// A record as it is stored in the archive.
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
pub fn read(git: &Git, id: &str) -> anyhow::Result<PortableRecord> {
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
pub fn write(git: &Git, portables: &[PortableRecord]) -> anyhow::Result<Vec<Refused>> {
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
