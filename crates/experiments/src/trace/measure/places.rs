//! Names of what stands at a place in the memory: locks, call sites, processes.

use crate::trace::names::Names;
use crate::trace::record::{Row, RowKind};
use interpose::{Kind, Lock, Region};
use std::sync::atomic::Ordering::Relaxed;

/// The lock at this place. The watched program can write into the memory, so a place that it names need not be one.
pub fn lock_at(region: &Region, place: u32) -> &Lock {
    &region.locks[place as usize % region.locks.len()]
}

/// The name of the lock at this place.
pub fn lock_name(region: &Region, names: &mut Names, place: u32) -> String {
    names.lock(place.into(), |names| {
        variable(region, names, place).unwrap_or_else(|| by_first_use(region, names, place))
    })
}

/// The global variable that the lock at this place is.
pub fn variable(region: &Region, names: &mut Names, place: u32) -> Option<String> {
    let lock = region.locks.get(place as usize)?;
    names.variable(lock.process.load(Relaxed), lock.address.load(Relaxed))
}

/// What the lock at this place is called that is no variable: others can be called the same.
pub fn by_first_use(region: &Region, names: &mut Names, place: u32) -> String {
    let Some(lock) = region.locks.get(place as usize) else { return "?".into() };
    let site = names.site(lock.process.load(Relaxed), lock.first_site.load(Relaxed));
    format!("{} of {}", type_name(lock.kind.load(Relaxed)), site.label)
}

/// What kind of lock.
pub fn type_name(kind: u32) -> &'static str {
    match Kind::of(kind) {
        Some(Kind::Mutex) => "mutex",
        Some(Kind::Read | Kind::Write) => "rwlock",
        Some(Kind::Spin) => "spin",
        Some(Kind::Cond) => "cond",
        Some(Kind::Sem) => "sem",
        Some(Kind::Barrier) => "barrier",
        None => "lock",
    }
}

/// What a mutex's type and protocol say, by glibc's bits.
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

/// Where the pair at this place is.
pub fn site_label(region: &Region, names: &mut Names, pair: u32) -> String {
    let Some(pair) = region.pairs.get(pair as usize) else { return "?".into() };
    let process = region.locks.get(pair.lock.load(Relaxed) as usize).map_or(0, |lock| lock.process.load(Relaxed));
    names.site(process, pair.site.load(Relaxed)).label
}

/// The process of the lock at this place.
pub fn process_of(region: &Region, lock: u32) -> u32 {
    let place = region.locks.get(lock as usize).map_or(0, |lock| lock.process.load(Relaxed));
    region.processes.get(place as usize).map_or(0, |process| process.pid.load(Relaxed))
}

/// A row of the lock at this place, without figures.
pub fn empty(region: &Region, names: &mut Names, kind: RowKind, place: u32) -> Row {
    let lock = lock_at(region, place);
    let row = Row::new(kind, process_of(region, place), lock_name(region, names, place));
    let lock_type = type_name(lock.kind.load(Relaxed)).to_owned();
    Row { address: format!("{:#x}", lock.address.load(Relaxed)), lock_type, ..row }
}
