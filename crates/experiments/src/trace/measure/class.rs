//! Classes of locks: those of one type whose first call site in the code is the same.

use blame::names::Names;
use blame::places::{self, lock_at};
use interpose::Region;
use std::sync::atomic::Ordering::Relaxed;

/// The common property of locks that are one row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A global variable, or the locks of a call site that have no separate slots, by the slot.
    Slot(u32),
    /// The process, the type, and the call site.
    CallSite(u32, u32, u64),
    /// The process, and the number of the Python place that waits for it.
    Python(u32, usize),
}

/// Returns the class of a lock: locks of one type and one call site are one class, except global variables, each of which
/// has a name, and except the locks without slots, of which no more than the call site is known.
pub fn class_of(region: &Region, names: &mut Names, slot: u32) -> Class {
    let lock = lock_at(region, slot);
    match places::is_folded(region, slot) || places::is_in_variable(region, names, slot) {
        true => Class::Slot(slot),
        false => Class::CallSite(lock.process.load(Relaxed), lock.kind.load(Relaxed), lock.first_site.load(Relaxed)),
    }
}
