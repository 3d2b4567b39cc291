//! The convoy-avoidance lock: unlocking frees the lock even when it wakes someone, and the woken competes for it.
//!
//! # State
//! | `word` | meaning | who changes it |
//! |---|---|---|
//! | 0 | free | anybody, to 1 or 2, by taking it |
//! | 1 | held, nobody sleeps | the holder, to 0; a waiter, to 2 |
//! | 2 | held, somebody may sleep | the holder, to 0, and it must then wake one |
//!
//! A thread that has slept cannot know whether others still do, so it takes the lock as 2: one wake too many at most.
//!
//! # Ordering
//! Taking is `Acquire`, freeing is `Release`, on one word whose every change is a read-modify-write: what a holder
//! wrote is seen by all later ones. There is no fence, because there is no second word: a waiter's 2 and a holder's
//! 0 are changes of the same word and so in one order. Either the swap to 0 reads the 2, and wakes; or the 2 comes
//! after the 0, and then the swap that wrote it has taken the lock.
//!
//! # Fairness
//! None. Whoever finds the lock free takes it; a woken thread may find it taken, any number of times. That is the
//! point: the lock is not idle while a woken thread finds its CPU.
//!
//! # A stopped or dead holder
//! Blocks everybody else. A *waiter* that is killed between being woken and looking keeps the wake for itself: the
//! others sleep until the next contended unlock. [`Robust`](crate::Robust) survives both.
//!
//! # Source
//! `calock` and `calock_spin` (lock types `c`, `C`) in Hubertus Franke, "Lightweight userspace semaphores",
//! linux-kernel, February 2002. With three values instead of a counter: the third mutex of Ulrich Drepper, "Futexes Are
//! Tricky".

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    count::{Count, NoCount},
    futex::{self, Deadline, Private, Scope, Wait},
    patience::{Micros, Patience, spin},
};
use core::marker::PhantomData;

const FREE: u32 = 0;
const HELD: u32 = 1;
const SLEPT_ON: u32 = 2;

/// The convoy-avoidance lock with a patience: it spins for a while before it sleeps. 4 bytes.
///
/// ```
/// use ulocks::{CalockSpin, lock_api::Mutex};
///
/// static TOTAL: Mutex<CalockSpin, u64> = Mutex::new(0);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 1);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct CalockSpin<S: Scope = Private, C: Count = NoCount, P: Patience = Micros<3>> {
    word: AtomicU32,
    counts: C,
    kind: PhantomData<(S, P)>,
}

/// The convoy-avoidance lock that sleeps at once. 4 bytes.
///
/// ```
/// use ulocks::{Calock, lock_api::Mutex};
///
/// let names = Mutex::<Calock, _>::new(vec!["Be"]);
/// names.lock().push("Linux");
/// assert_eq!(names.lock().len(), 2);
/// ```
pub type Calock<S = Private, C = NoCount> = CalockSpin<S, C, Micros<0>>;

const _: () = assert!(cfg!(loom) || size_of::<CalockSpin>() == 4);

impl<S: Scope, C: Count, P: Patience> CalockSpin<S, C, P> {
    const_unless_loom! {
        /// A free lock.
        pub fn new() -> Self {
            CalockSpin { word: AtomicU32::new(FREE), counts: C::ZERO, kind: PhantomData }
        }
    }

    /// Takes the lock, waiting for it if it is held.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_by(None);
        }
    }

    /// Takes the lock if it is free now.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    /// Frees the lock, and wakes the thread that has slept longest, if any does.
    ///
    /// # Safety
    /// The lock is held, and the caller gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        if self.word.swap(FREE, Release) == SLEPT_ON {
            futex::wake::<S>(&self.word, 1, futex::ALL);
        }
    }

    /// Whether somebody holds the lock, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) != FREE
    }

    /// What happened on this lock, if it counts.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    #[cold]
    fn lock_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.write_contended();
        if spin::<P>(|| self.word.load(Relaxed) == FREE && self.try_lock()) {
            self.counts.spun();
            return true;
        }
        while self.word.swap(SLEPT_ON, Acquire) != FREE {
            self.counts.slept();
            if futex::wait::<S>(&self.word, SLEPT_ON, futex::ALL, deadline) == Wait::TimedOut {
                return false;
            }
        }
        true
    }
}

raw_mutex!([S: Scope, C: Count, P: Patience] CalockSpin<S, C, P>, lock_api::GuardSend);
raw_mutex_timed!([S: Scope, C: Count, P: Patience] CalockSpin<S, C, P>, lock_api::GuardSend);
