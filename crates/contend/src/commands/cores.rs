//! CPUs that share a core, from the last record that probed them: `contend core`, since this machine was started.

use archive::{Archive, Location};
use harness::{Session, SharedFlags};
use instruments::environment::ProbedPairs;
use serde_json::Value;
use std::fs;

const EXPERIMENT: &str = "core";
/// The maximum number of records that are read: those of other machines, and from before the last start, do not apply.
const MOST: usize = 8;

/// Passes the known topology of the machine to a session.
///
/// A machine that was restarted, or moved, may have another.
pub fn recall(session: &mut Session, shared: &SharedFlags) {
    let is_there_more_than_one = session.environment.cpu.online.as_ref().is_none_or(|online| online.len() > 1);
    if is_there_more_than_one {
        session.environment.cpu.probed = known(shared);
    }
}

/// Returns the known pairs; an unreadable record is ignored, so that no measurement fails because of it.
fn known(shared: &SharedFlags) -> Option<ProbedPairs> {
    let archive = Location::of(shared.archive.as_deref()).archive().ok()??;
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let entries = archive.listing().ok()?.entries;
    let tried = entries.iter().rev().filter(|entry| entry.summary.experiment == EXPERIMENT).take(MOST);
    tried.filter_map(|entry| of_record(&archive, &entry.id, boot_id.trim())).next()
}

fn of_record(archive: &Archive, id: &str, boot_id: &str) -> Option<ProbedPairs> {
    if archive.manifest(id).ok()?.boot_id.as_deref() != Some(boot_id) {
        return None;
    }
    let record: Value = serde_json::from_slice(&archive.record(id).ok()?).ok()?;
    serde_json::from_value(record["environment"]["cpu"]["probed"].clone()).ok()
}
