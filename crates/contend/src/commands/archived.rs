//! The archive, opened and listed once for a command; references that are not records are reported on stderr.

use anyhow::Context;
use archive::{Archive, Catalogue, Entry, Location};
use harness::output;
use instruments::environment::{Environment, ProbedPairs};
use record::{Source, understand};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

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

/// Reads the archived record of this name, which is not a file's.
///
/// # Errors
/// There is no archive, no such record, or it cannot be read.
pub fn recalled(name: &str, archive: Option<&Catalogue>) -> anyhow::Result<(Entry, Source)> {
    let (entry, content) = archive.with_context(|| none_for(name))?.recalled(name)?;
    // A later record may be the last one; a view names this one by its ID.
    let source = understand(entry.short_id(), &content)?;
    Ok((entry, source))
}

/// The experiment that probes which CPUs share a core.
const CORE: &str = "core";
/// The maximum number of its records that are read: those of other machines, and from before the last start, do not
/// apply.
const MOST_OF_CORE: usize = 8;

/// Passes the CPUs that share a core to an environment, from the latest records that probed them: since this machine was
/// started, and so recently that they hold.
pub fn recall_cores(environment: &mut Environment, archive: Option<&Path>) {
    let is_there_more_than_one = environment.cpu.online.as_ref().is_none_or(|online| online.len() > 1);
    if is_there_more_than_one {
        // A hypervisor need not show its guests which CPUs share a core; without one, the kernel knows.
        let cores = Some(&environment.cpu.cores[..]).filter(|_| environment.host.hypervisor.is_none());
        let now_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        environment.cpu.probed = ProbedPairs::that_hold(probed_pairs(archive).unwrap_or_default(), now_unix_s, cores);
    }
}

/// Returns the known pairs; an unreadable record is ignored, so that no measurement fails because of it.
fn probed_pairs(archive: Option<&Path>) -> Option<Vec<ProbedPairs>> {
    let archive = Location::of(archive).archive().ok()??;
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let entries = archive.listing().ok()?.entries;
    let tried = entries.iter().rev().filter(|entry| entry.summary.experiment == CORE).take(MOST_OF_CORE);
    Some(tried.filter_map(|entry| pairs_of_record(&archive, &entry.id, boot_id.trim())).collect())
}

fn pairs_of_record(archive: &Archive, id: &str, boot_id: &str) -> Option<ProbedPairs> {
    if archive.manifest(id).ok()?.boot_id.as_deref() != Some(boot_id) {
        return None;
    }
    let record: Value = serde_json::from_slice(&archive.record(id).ok()?).ok()?;
    serde_json::from_value(record["environment"]["cpu"]["probed"].clone()).ok()
}
