//! Records fetched from another repository: into a repository of their own, which knows what the archive has. What can
//! be read there, the archive takes; all else goes with it.

use crate::baseline::{BASELINES, Baselines};
use crate::claim::INCOMING;
use crate::git::{self, FETCH, Git};
use crate::listing::{self, RECORDS, Reference, Skipped};
use crate::process::Memory;
use crate::records;
use crate::summary::Entry;
use crate::whole::{self, Whole};
use anyhow::Context;
use std::collections::HashSet;
use std::fs;
use tempfile::TempDir;

/// What came of a fetch.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// Records that the archive had not.
    pub taken: usize,
    /// The names of baselines that the archive had not, or that were saved later than its own.
    pub baselines: Vec<String>,
    /// What is no record, or none that can be read.
    pub refused: Vec<Skipped>,
}

/// Takes what `remote` has and the archive has not.
pub fn fetch(archive: &Git, remote: &str) -> anyhow::Result<Fetched> {
    let known = listing::references(archive)?;
    let place = beside(archive)?;
    let incoming = repository(archive, &place, &known)?;
    let records = format!("+{RECORDS}*:{RECORDS}*");
    let baselines = format!("+{BASELINES}*:{BASELINES}*");
    incoming.remote(&[&FETCH[..], &["--end-of-options", remote, &records, &baselines]].concat(), Memory::Limited)?;
    let mut fetched = take_new(archive, &incoming, known)?;
    let all = listing::listing(archive, &listing::references(archive)?)?;
    fetched.baselines = Baselines::of(archive, None).take_newer(&incoming, &all.entries)?;
    Ok(fetched)
}

/// Takes those of these records that the archive has not, and that are what they say.
pub fn admit(archive: &Git, mut wholes: Vec<Whole>) -> anyhow::Result<Fetched> {
    let known = listing::references(archive)?;
    let named: HashSet<&str> = known.iter().map(|reference| reference.hash.as_str()).collect();
    wholes.retain(|whole| !named.contains(whole.id.as_str()));
    wholes.sort_by(|a, b| a.id.cmp(&b.id));
    wholes.dedup_by(|a, b| a.id == b.id);
    if wholes.is_empty() {
        return Ok(Fetched::default());
    }
    let place = beside(archive)?;
    let incoming = repository(archive, &place, &known)?;
    let refused = whole::write(&incoming, &wholes)?;
    let mut fetched = take_new(archive, &incoming, known)?;
    fetched.refused.extend(refused.iter().map(|refused| Skipped::record(&refused.id, &refused.reason)));
    Ok(fetched)
}

/// A folder within the archive that is nobody's once whoever made it is gone.
fn beside(archive: &Git) -> anyhow::Result<TempDir> {
    let place = tempfile::Builder::new().prefix(INCOMING).tempdir_in(archive.folder());
    place.with_context(|| format!("{}: cannot create a directory", archive.folder().display()))
}

/// Takes what is new in `incoming` and can be read.
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

/// An empty repository that has the objects of the archive, so that only what is new is sent, and nothing of its
/// settings.
fn repository(archive: &Git, place: &TempDir, known: &[Reference]) -> anyhow::Result<Git> {
    let hashes = archive.line(&["rev-parse", "--show-object-format"], &[])?;
    git::create(place.path(), &hashes)?;
    let information = place.path().join("objects/info");
    fs::create_dir_all(&information)?;
    // Relative to the objects of the one that borrows.
    fs::write(information.join("alternates"), "../../objects\n")?;
    let mut packed = b"# pack-refs with: sorted \n".to_vec();
    for reference in known.iter().filter(|reference| reference.is_named_by_its_hash()) {
        packed.extend([reference.hash.as_bytes(), b" ", &reference.name, b"\n"].concat());
    }
    fs::write(place.path().join("packed-refs"), packed)?;
    Ok(Git::on(place.path()))
}

/// All at once, as a rule; where Git finds an object that is not as it makes them, by halves until it is known whose.
fn take_each(archive: &Git, incoming: &Git, sound: &[&Entry], fetched: &mut Fetched) -> anyhow::Result<()> {
    match (take(archive, incoming, sound), sound) {
        (Ok(()), _) => fetched.taken += sound.len(),
        // A disk that is full is not the records' fault.
        (Err(error), _) if !format!("{error:#}").contains("fsck error") => return Err(error),
        (Err(error), [one]) => fetched.refused.push(Skipped::record(&one.id, &error)),
        (Err(_), _) => {
            let (some, others) = sound.split_at(sound.len() / 2);
            take_each(archive, incoming, some, fetched)?;
            take_each(archive, incoming, others, fetched)?;
        }
    }
    Ok(())
}

/// Fetched again, from beside.
fn take(archive: &Git, incoming: &Git, sound: &[&Entry]) -> anyhow::Result<()> {
    if sound.is_empty() {
        return Ok(());
    }
    let references: String = sound.iter().map(|entry| format!("{RECORDS}{0}:{RECORDS}{0}\n", entry.id)).collect();
    archive.take(incoming, &references)
}
