//! The slow path of release: a read-modify-write, and a wake-up.

use super::{
    generation, rotation,
    waiting::wake,
    word::{Awake, Freed, HELD, Time, freed, freed_without_time, iterations, may_have_blocked},
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
    ///
    /// Most releases while threads are blocked read no time and wake no thread. A short path for them makes a pair of
    /// acquisition and release 10 % shorter.
    #[cold]
    #[inline(never)]
    pub(super) fn free<S: Scope>(word: &AtomicU32) {
        if !free_without_time::<S>(word) {
            free_slowly::<S>(word);
        }
    }
}

/// Attempts a release that neither reads the time nor wakes a thread; returns whether it succeeded.
#[inline(always)]
fn free_without_time<S: Scope>(lock: &AtomicU32) -> bool {
    let word = lock.load(Relaxed);
    if word == HELD {
        // Perhaps no constructor has run.
        return false;
    }
    let draw = turns::Draw::of(core::ptr::from_ref(lock).addr());
    let reads_no_time = |next: &u32| !may_have_blocked(*next) || !draw.hits();
    let Some(next) = freed_without_time(word, generation::awake::<S>()).filter(reads_no_time) else {
        return false;
    };
    let is_freed = lock.compare_exchange(word, next, Release, Relaxed).is_ok();
    if is_freed && may_have_blocked(next) {
        draw.advance();
    } else if is_freed && let Some(at) = iterations(word) {
        rotation::iterated(core::ptr::from_ref(lock).addr(), at);
    }
    is_freed
}

nounwind_unless_loom! {
    #[cold]
    #[inline(never)]
    fn free_slowly<S: Scope>(word: &AtomicU32) {
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
    lock: usize,
}

impl Time for Clock {
    fn now(&self) -> u32 {
        coarse_now()
    }

    fn is_looked_at(&self) -> bool {
        let draw = turns::Draw::of(self.lock);
        let hits = draw.hits();
        draw.advance();
        if hits {
            rotation::released(self.lock);
        }
        hits
    }

    #[cfg(not(loom))]
    fn has_short_iterations(&self) -> bool {
        super::pace::is_short(self.lock)
    }

    #[cfg(loom)]
    fn has_short_iterations(&self) -> bool {
        false
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

    /// Tells which releases read the clock: about one of 16.
    ///
    /// The entry is a random number, the next one for each release. A count would give the same lock the wrong remainder
    /// forever if each of its releases were followed by one of another lock of the entry.
    pub(super) struct Draw(&'static AtomicU32);

    impl Draw {
        /// Returns the draw of the next release of the lock at this address.
        #[inline]
        pub(super) fn of(lock: usize) -> Self {
            let Line(entry) = &TABLE[entry_of(lock, ENTRIES)];
            Draw(entry)
        }

        /// Returns whether the release reads the clock.
        #[inline]
        pub(super) fn hits(&self) -> bool {
            self.0.load(Relaxed) >> (u32::BITS - 4) == 0
        }

        /// Passes to the release after it.
        #[inline]
        pub(super) fn advance(&self) {
            self.0.store(self.0.load(Relaxed).wrapping_mul(1_664_525).wrapping_add(1_013_904_223), Relaxed);
        }
    }
}

#[cfg(loom)]
mod turns {
    //! In a model, each release reads the clock, which always has the same value.
    pub(super) struct Draw;

    impl Draw {
        pub(super) fn of(_lock: usize) -> Self {
            Draw
        }

        pub(super) fn hits(&self) -> bool {
            true
        }

        pub(super) fn advance(&self) {}
    }
}
