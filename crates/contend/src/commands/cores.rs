//! Which CPUs share a core, as the last record tells that tried it: `contend core`, since this machine was started.

use archive::{Archive, Location};
use harness::{Session, SharedFlags};
use instruments::environment::ProbedPairs;
use serde_json::Value;
use std::fs;

const EXPERIMENT: &str = "core";
/// Records that are looked into: those of other machines, and of before the last start, know nothing of this one.
const MOST: usize = 8;

/// Tells a session what is known of its machine's shape. A machine that was started anew, or moved, may have another.
pub fn recall(session: &mut Session, shared: &SharedFlags) {
    let is_there_more_than_one = session.environment.cpu.online.as_ref().is_none_or(|online| online.len() > 1);
    if is_there_more_than_one {
        session.environment.cpu.probed = known(shared);
    }
}

/// What cannot be read is not known: no measurement fails for it.
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
