//! Freeing by a read-modify-write, and waking.

use super::{
    generation,
    word::{Awake, Freed, freed},
};
use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Relaxed, Release},
    },
    cpu::coarse_now,
    futex::{self, Scope},
    restartable,
};

nounwind_unless_loom! {
    /// Frees a lock by a read-modify-write: where sequences don't work, or somebody waits, or waited lately.
    #[cold]
    #[inline(never)]
    pub(super) fn free<S: Scope>(word: &AtomicU32) {
        free_by::<S>(word, freed);
        // A no-op but where no constructor has run. Then it may take milliseconds: not while the lock is held.
        if S::PRIVATE {
            restartable::prepare();
        }
    }
}

pub(super) fn free_by<S: Scope>(lock: &AtomicU32, next: impl Fn(u32, Awake, fn() -> u32) -> Freed) {
    let mut word = lock.load(Relaxed);
    loop {
        let freed = next(word, generation::awake::<S>(), coarse_now);
        match lock.compare_exchange_weak(word, freed.word, Release, Relaxed) {
            Ok(_) if freed.wakes => {
                // The memory may belong to somebody else by now: the kernel gets the word's address, and doesn't read
                // it.
                futex::wake::<S>(lock, 1, futex::ALL);
                return;
            }
            Ok(_) => return,
            Err(now) => word = now,
        }
    }
}
