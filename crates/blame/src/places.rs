//! Names of the slots of the shared memory: locks, call sites, processes.

use crate::names::{Names, Site};
use interpose::{Kind, Lock, Region};
use std::sync::atomic::Ordering::Relaxed;

/// Returns the lock at this place. The watched program can write into the memory, so a place that it names need not be
/// one.
pub fn lock_at(region: &Region, place: u32) -> &Lock {
    &region.locks[place as usize % region.locks.len()]
}

/// Returns the name of the lock at this place.
pub fn lock_name(region: &Region, names: &mut Names, place: u32) -> String {
    names.lock(place.into(), |names| {
        variable(region, names, place).unwrap_or_else(|| by_call_site(region, names, place))
    })
}

/// Returns the global variable that the lock at this place is.
pub fn variable(region: &Region, names: &mut Names, place: u32) -> Option<String> {
    let lock = region.locks.get(place as usize)?;
    names.variable(lock.process.load(Relaxed), lock.address.load(Relaxed))
}

/// Returns whether the lock at this place is in a global variable.
pub fn is_in_variable(region: &Region, names: &mut Names, place: u32) -> bool {
    let lock = region.locks.get(place as usize);
    lock.is_some_and(|lock| names.is_in_variable(lock.process.load(Relaxed), lock.address.load(Relaxed)))
}

/// Returns the name of a lock outside global variables, by the first of its call sites in the program's code. Several locks
/// can have the same.
pub fn by_call_site(region: &Region, names: &mut Names, place: u32) -> String {
    let Some(lock) = region.locks.get(place as usize) else { return "?".into() };
    let site = names.site(lock.process.load(Relaxed), lock.first_site.load(Relaxed));
    if lock.is_folded() {
        other_locks(&site)
    } else {
        format!("{} of {}", type_name(lock.kind.load(Relaxed)), site.label)
    }
}

/// Returns the name of all locks of a call site that have no separate places.
pub fn other_locks(site: &Site) -> String {
    format!("other locks of {}", site.label)
}

/// Returns whether this place stands for several locks, which are known by their call site only.
pub fn is_folded(region: &Region, place: u32) -> bool {
    region.locks.get(place as usize).is_some_and(Lock::is_folded)
}

/// Returns the name of a kind of lock.
pub fn type_name(kind: u32) -> &'static str {
    match Kind::of(kind) {
        Some(Kind::Mutex) => "mutex",
        Some(Kind::Read | Kind::Write) => "rwlock",
        Some(Kind::Spin) => "spin",
        Some(Kind::Cond | Kind::Broadcast | Kind::Signal) => "cond",
        Some(Kind::Sem) => "sem",
        Some(Kind::Barrier) => "barrier",
        None => "lock",
    }
}

/// Returns the type and protocol of a mutex, by glibc's bits.
pub fn attributes(kind: u32, word: u32) -> Vec<String> {
    if Kind::of(kind) != Some(Kind::Mutex) {
        return Vec::new();
    }
    let types = ["", "recursive", "error_checking", "adaptive"];
    let bits = [(0x10, "robust"), (0x20, "priority_inheritance"), (0x40, "priority_ceiling"), (0x80, "shared")];
    let named = bits.iter().filter(|(bit, _)| word & bit != 0).map(|(_, name)| *name);
    std::iter::once(types[(word & 3) as usize])
        .chain(named)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns the call site of the pair in this slot.
pub fn site_label(region: &Region, names: &mut Names, pair: u32) -> String {
    let Some(pair) = region.pairs.get(pair as usize) else { return "?".into() };
    names.site(pair.process.load(Relaxed), pair.site.load(Relaxed)).label
}

/// Returns the place of the process in which a call site acquires a lock: processes can share the lock.
pub fn process_at(region: &Region, lock: u32, site: u64) -> u32 {
    let is_it = |pair: &interpose::Pair| pair.lock.load(Relaxed) == lock && pair.site.load(Relaxed) == site;
    let pair = region.pairs().find(|(_, pair)| is_it(pair));
    pair.map_or_else(|| lock_at(region, lock).process.load(Relaxed), |(_, pair)| pair.process.load(Relaxed))
}

/// Returns the process of the lock at this place.
pub fn process_of(region: &Region, lock: u32) -> u32 {
    let place = region.locks.get(lock as usize).map_or(0, |lock| lock.process.load(Relaxed));
    region.processes.get(place as usize).map_or(0, |process| process.pid.load(Relaxed))
}
