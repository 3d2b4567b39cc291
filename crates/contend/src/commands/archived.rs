//! The archive, opened and listed once for a command; references that are not records are reported on stderr.

use archive::{Archive, Catalogue, Location};
use harness::output;
use std::path::Path;

/// The maximum number of complaints in a message.
const SAID: usize = 3;

/// Opens and lists the archive in this directory.
///
/// # Errors
/// It cannot be opened or listed.
pub fn open(folder: &Path) -> anyhow::Result<Catalogue> {
    listed(Archive::open(folder)?)
}

/// Opens and lists the archive of this location, if there is one.
pub fn at(location: &Location) -> anyhow::Result<Option<Catalogue>> {
    location.archive()?.map(listed).transpose()
}

/// Lists an archive.
pub fn listed(archive: Archive) -> anyhow::Result<Catalogue> {
    let catalogue = Catalogue::of(archive)?;
    complain("was skipped", &catalogue.complaints);
    Ok(catalogue)
}

/// Prints what was done with references that are not records, and how they are removed.
pub fn complain(done: &str, complaints: &[String]) {
    for complaint in complaints.iter().take(SAID) {
        output::eprint_line(&format!("warning: an unreadable record {done}: {complaint}"));
    }
    if let Some(more @ 1..) = complaints.len().checked_sub(SAID) {
        output::eprint_line(&format!("warning: {more} more; `contend history verify` lists all of them"));
    }
}

/// Returns the reason why a name that is not a file's means nothing.
pub fn none_for(name: &str) -> String {
    format!("{name}: not a file, and there is no archive that could contain a record of this name")
}
