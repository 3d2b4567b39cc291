//! The slow path of release: a read-modify-write, and a wake-up.

use super::{
    generation,
    waiting::wake,
    word::{Awake, Freed, Time, freed},
};
use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Relaxed, Release},
    },
    cpu::coarse_now,
    futex::Scope,
    restartable,
};

nounwind_unless_loom! {
    /// Releases a lock by a read-modify-write: where restartable sequences do not work, or threads wait or waited
    /// recently.
    #[cold]
    #[inline(never)]
    pub(super) fn free<S: Scope>(word: &AtomicU32) {
        free_by::<S>(word, freed);
        // This call does nothing unless no constructor has run. It may then take milliseconds, so it comes after the
        // release.
        if S::PRIVATE {
            restartable::prepare();
        }
    }
}

pub(super) fn free_by<S: Scope>(lock: &AtomicU32, next: impl Fn(u32, Awake, &Clock) -> Freed) {
    let clock = Clock { lock: core::ptr::from_ref(lock).addr() };
    let mut word = lock.load(Relaxed);
    loop {
        let freed = next(word, generation::awake::<S>(), &clock);
        match lock.compare_exchange_weak(word, freed.word, Release, Relaxed) {
            Ok(_) if freed.wakes => return wake::<S>(lock),
            Ok(_) => return,
            Err(now) => word = now,
        }
    }
}

/// The clock of a release.
///
/// Reading it takes as long as the rest of a release, so one of about 16 does while threads are blocked. What selects it is
/// not in the word, which would then change with each release, so that the kernel would refuse to block threads.
pub(super) struct Clock {
    /// The address of the lock.
    #[cfg_attr(loom, expect(dead_code, reason = "the model has no turns"))]
    lock: usize,
}

impl Time for Clock {
    fn now(&self) -> u32 {
        coarse_now()
    }

    #[cfg(not(loom))]
    fn is_looked_at(&self) -> bool {
        let is_looked_at = turns::is_one_of_sixteen(self.lock);
        if is_looked_at {
            super::rotation::used(self.lock);
        }
        is_looked_at
    }

    /// In a model, each release reads the clock, which always has the same value.
    #[cfg(loom)]
    fn is_looked_at(&self) -> bool {
        true
    }
}

#[cfg(not(loom))]
mod turns {
    use super::super::pace::entry_of;
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// Locks share the entries by address. Only releases of locks with blocked threads change them.
    const ENTRIES: usize = 32;
    static TABLE: [Line; ENTRIES] = [const { Line(AtomicU32::new(0)) }; ENTRIES];

    #[repr(align(64))]
    struct Line(AtomicU32);

    /// Returns whether this release is one of the about 16 that reads the clock.
    ///
    /// The entry is a random number, the next one for each call. A count would give the same lock the wrong remainder
    /// forever if each of its releases were followed by one of another lock of the entry.
    pub(super) fn is_one_of_sixteen(lock: usize) -> bool {
        let Line(entry) = &TABLE[entry_of(lock, ENTRIES)];
        let next = entry.load(Relaxed).wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        entry.store(next, Relaxed);
        next >> (u32::BITS - 4) == 0
    }
}
