//! Records fetched from another repository: into a separate repository, which knows the objects of the archive. The
//! archive takes the records that can be read there; the rest is deleted with the repository.

use crate::baseline::{BASELINES, Baselines};
use crate::claim::{Claim, INCOMING};
use crate::git::{self, FETCH, Git, Memory};
use crate::listing::{self, Entry, RECORDS, Reference, Skipped};
use crate::records::{self, PortableRecord};
use anyhow::Context;
use std::collections::HashSet;
use std::fs;
use tempfile::TempDir;

/// The result of a fetch.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// The number of records that the archive lacked.
    pub taken: usize,
    /// The names of baselines that the archive lacked, or that were saved later than its own.
    pub baselines: Vec<String>,
    /// References that are not records, or records that cannot be read.
    pub refused: Vec<Skipped>,
}

/// Takes the records that `remote` has and the archive lacks.
pub fn fetch(archive: &Git, remote: &str) -> anyhow::Result<Fetched> {
    let known = listing::references(archive)?;
    let place = incoming_directory(archive)?;
    let incoming = repository(archive, &place, &known)?;
    let records = format!("+{RECORDS}*:{RECORDS}*");
    let baselines = format!("+{BASELINES}*:{BASELINES}*");
    incoming.remote(&[&FETCH[..], &["--end-of-options", remote, &records, &baselines]].concat(), Memory::Limited)?;
    let mut fetched = take_new(archive, &incoming, known)?;
    let _no_other_deletes_records = Claim::naming(archive.folder());
    let all = listing::listing(archive, &listing::references(archive)?)?;
    fetched.baselines = Baselines::of(archive, None).take_newer(&incoming, &all.entries)?;
    Ok(fetched)
}

/// Takes those of these records that the archive lacks and that match their names.
pub fn admit(archive: &Git, mut portables: Vec<PortableRecord>) -> anyhow::Result<Fetched> {
    let known = listing::references(archive)?;
    let named: HashSet<&str> = known.iter().map(|reference| reference.hash.as_str()).collect();
    portables.retain(|portable| !named.contains(portable.id.as_str()));
    portables.sort_by(|a, b| a.id.cmp(&b.id));
    portables.dedup_by(|a, b| a.id == b.id);
    if portables.is_empty() {
        return Ok(Fetched::default());
    }
    let place = incoming_directory(archive)?;
    let incoming = repository(archive, &place, &known)?;
    let refused = records::write_portable(&incoming, &portables)?;
    let mut fetched = take_new(archive, &incoming, known)?;
    fetched.refused.extend(refused.iter().map(|refused| Skipped::record(&refused.id, &refused.reason)));
    Ok(fetched)
}

/// Creates a directory within the archive that is stale once its creator has ended.
fn incoming_directory(archive: &Git) -> anyhow::Result<TempDir> {
    let place = tempfile::Builder::new().prefix(INCOMING).tempdir_in(archive.folder());
    place.with_context(|| format!("{}: cannot create a directory", archive.folder().display()))
}

/// Takes the records in `incoming` that are new and can be read.
fn take_new(archive: &Git, incoming: &Git, known: Vec<Reference>) -> anyhow::Result<Fetched> {
    let known: HashSet<Reference> = known.into_iter().collect();
    let mut new = listing::references(incoming)?;
    new.retain(|reference| !known.contains(reference));
    let found = listing::listing(incoming, &new)?;
    let unsound = records::unsound(incoming, &found.entries, |_, _| Ok(()))?;
    let sound: Vec<&Entry> = found.entries.iter().filter(|entry| !unsound.iter().any(|bad| bad.is(entry))).collect();
    let mut fetched = Fetched {
        taken: 0,
        baselines: Vec::new(),
        refused: found.skipped.into_iter().chain(unsound.iter().cloned()).collect(),
    };
    take_each(archive, incoming, &sound, &mut fetched)?;
    Ok(fetched)
}

/// Creates an empty repository that has the objects of the archive, so that only new objects are sent, and none of its
/// settings.
fn repository(archive: &Git, place: &TempDir, known: &[Reference]) -> anyhow::Result<Git> {
    let hashes = archive.line(&["rev-parse", "--show-object-format"], &[])?;
    git::create(place.path(), &hashes)?;
    let information = place.path().join("objects/info");
    fs::create_dir_all(&information)?;
    // The path is relative to the objects of the borrowing repository.
    fs::write(information.join("alternates"), "../../objects\n")?;
    let mut packed = b"# pack-refs with: sorted \n".to_vec();
    for reference in known.iter().filter(|reference| reference.is_named_by_its_hash()) {
        packed.extend([reference.hash.as_bytes(), b" ", &reference.name, b"\n"].concat());
    }
    fs::write(place.path().join("packed-refs"), packed)?;
    Ok(Git::on(place.path()))
}

/// Takes all records at once, as a rule; where Git finds a malformed object, halves the set until its record is known.
fn take_each(archive: &Git, incoming: &Git, sound: &[&Entry], fetched: &mut Fetched) -> anyhow::Result<()> {
    match (take(archive, incoming, sound), sound) {
        (Ok(()), _) => fetched.taken += sound.len(),
        // A full disk is not an error of the records.
        (Err(error), _) if !format!("{error:#}").contains("fsck error") => return Err(error),
        (Err(error), [one]) => fetched.refused.push(Skipped::record(&one.id, &error)),
        (Err(_), _) => {
            let (some, rest) = sound.split_at(sound.len() / 2);
            take_each(archive, incoming, some, fetched)?;
            take_each(archive, incoming, rest, fetched)?;
        }
    }
    Ok(())
}

/// Fetches the records again, from the incoming repository.
fn take(archive: &Git, incoming: &Git, sound: &[&Entry]) -> anyhow::Result<()> {
    if sound.is_empty() {
        return Ok(());
    }
    let references: String = sound.iter().map(|entry| format!("{RECORDS}{0}:{RECORDS}{0}\n", entry.id)).collect();
    archive.take(incoming, &references)
}
