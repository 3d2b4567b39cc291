//! Classes of locks: those of one type that were first used at one place.

use blame::names::Names;
use blame::places::{self, lock_at};
use interpose::Region;
use std::sync::atomic::Ordering::Relaxed;

/// The common property of locks that are one row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A global variable, by its slot.
    Variable(u32),
    /// The process, the type, and where they were first used.
    FirstUse(u32, u32, u64),
}

/// Returns the class of a lock: locks of one type that were first used at one place are one class, except global
/// variables, each of which has a name.
pub fn class_of(region: &Region, names: &mut Names, slot: u32) -> Class {
    let lock = lock_at(region, slot);
    match places::is_in_variable(region, names, slot) {
        true => Class::Variable(slot),
        false => Class::FirstUse(lock.process.load(Relaxed), lock.kind.load(Relaxed), lock.first_site.load(Relaxed)),
    }
}
