//! Call sites that are the same in every run, and the targets that they become in a process.

use super::schedule::{BUDGET, Hold};
use blame::names::{Mapping, Names, parse};
use interpose::{MAPS, Process, Region, TARGETS};
use std::path::PathBuf;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A call site: the file, and the address as the file has it.
pub type FileSite = (PathBuf, u64);
/// The call site that acquired the lock that is held, and the one that acquires the next.
pub type StepSites = (FileSite, FileSite);

/// The places to hold threads: for each step of a cycle the call sites, and how.
pub struct Aim {
    pub steps: Vec<(Vec<StepSites>, Hold)>,
}

/// Returns the map that a process noted.
pub fn noted_map(process: &Process) -> Vec<u8> {
    let length = (process.maps_length.load(Acquire) as usize).min(MAPS);
    process.maps[..length].iter().map(|byte| byte.load(Relaxed)).collect()
}

impl Aim {
    /// Begins a run.
    pub fn begin(&self, region: &Region) {
        region.confirm.budget_ns.store(BUDGET.as_nanos() as u64, Relaxed);
    }

    /// Writes the targets for a process, whose map `names` knows, and lets it go on.
    pub fn aim_at(&self, region: &Region, slot: u32, process: &Process, map: &[u8], names: &mut Names) {
        let mappings = parse(map);
        let mut count = region.confirm.count.load(Relaxed) as usize;
        for (sites, hold) in &self.steps {
            for (held, taken) in sites {
                let Some((held_site, taken_site)) = address(names, slot, &mappings, held)
                    .zip(address(names, slot, &mappings, taken))
                    .filter(|_| count < TARGETS)
                else {
                    continue;
                };
                let target = &region.confirm.targets[count];
                target.process.store(slot, Relaxed);
                target.skip.store(hold.skip, Relaxed);
                target.held_site.store(held_site, Relaxed);
                target.taken_site.store(taken_site, Relaxed);
                target.pause_ns.store(hold.pause.as_nanos() as u64, Relaxed);
                count += 1;
            }
        }
        region.confirm.count.store(count as u32, Release);
        process.is_aimed_at.store(1, Release);
    }
}

/// Returns the address of a site in a process, if the process has the file.
fn address(names: &mut Names, slot: u32, mappings: &[Mapping], (path, own): &FileSite) -> Option<u64> {
    let piece = mappings.iter().find(|piece| piece.is_code && *piece.path == **path)?;
    let (_, start) = names.in_file(slot, piece.start)?;
    Some(piece.start.wrapping_add(own.wrapping_sub(start)))
}
