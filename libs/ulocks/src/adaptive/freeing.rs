//! The slow path of release: a read-modify-write, and a wake-up.

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

pub(super) fn free_by<S: Scope>(lock: &AtomicU32, next: impl Fn(u32, Awake, fn() -> u32) -> Freed) {
    let mut word = lock.load(Relaxed);
    loop {
        let freed = next(word, generation::awake::<S>(), coarse_now);
        match lock.compare_exchange_weak(word, freed.word, Release, Relaxed) {
            Ok(_) if freed.wakes => {
                // The memory may already be reused. The kernel receives the address of the word and does not read the
                // word.
                futex::wake::<S>(lock, 1, futex::ALL);
                return;
            }
            Ok(_) => return,
            Err(now) => word = now,
        }
    }
}
