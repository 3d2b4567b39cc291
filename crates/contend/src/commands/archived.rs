//! The archive, opened and listed once for a command; what stands in it and is no record is said on stderr.

use archive::{Archive, Catalogue, Location};
use harness::output;
use std::path::Path;

/// Complaints that there is room for.
const SAID: usize = 3;

/// What is in the archive in this folder.
///
/// # Errors
/// None can be opened there, or it cannot be listed.
pub fn open(folder: &Path) -> anyhow::Result<Catalogue> {
    listed(Archive::open(folder)?)
}

/// What is in the archive of this place, if there is one.
pub fn at(location: &Location) -> anyhow::Result<Option<Catalogue>> {
    location.archive()?.map(listed).transpose()
}

/// What is in an archive.
pub fn listed(archive: Archive) -> anyhow::Result<Catalogue> {
    let catalogue = Catalogue::of(archive)?;
    complain("was skipped", &catalogue.complaints);
    Ok(catalogue)
}

/// Says what was done with what is no record, and how it is removed.
pub fn complain(done: &str, complaints: &[String]) {
    for complaint in complaints.iter().take(SAID) {
        output::eprint_line(&format!("warning: an unreadable record {done}: {complaint}"));
    }
    if let Some(more @ 1..) = complaints.len().checked_sub(SAID) {
        output::eprint_line(&format!("warning: {more} more; `contend history verify` lists all of them"));
    }
}

/// Why a name that is no file's means nothing.
pub fn none_for(name: &str) -> String {
    format!("{name}: not a file, and there is no archive that could contain a record of this name")
}
