//! The slow path of release: a read-modify-write, and a wake-up.

use super::{
    generation,
    waiting::wake,
    word::{Awake, Freed, freed},
};
use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Relaxed, Release},
    },
    cpu::coarse_now,
    futex::Scope,
};

nounwind_unless_loom! {
    /// Releases a lock by a read-modify-write, because threads wait or waited recently.
    #[cold]
    #[inline(never)]
    pub(super) fn free<S: Scope>(word: &AtomicU32) {
        free_by::<S>(word, freed);
    }
}

#[inline(always)]
pub(super) fn free_by<S: Scope>(lock: &AtomicU32, next: impl Fn(u32, Awake, fn() -> u32) -> Freed) {
    let mut word = lock.load(Relaxed);
    loop {
        let freed = next(word, generation::awake::<S>(), coarse_now);
        match lock.compare_exchange_weak(word, freed.word, Release, Relaxed) {
            Ok(_) if freed.wakes => return wake::<S>(lock),
            Ok(_) => return,
            Err(now) => word = now,
        }
    }
}
