//! The convoy-avoidance lock: a release makes the lock available to any thread, even if it wakes one, and the woken
//! thread competes for it.
//!
//! # State
//!
//! | `word` | meaning | written by |
//! |---|---|---|
//! | 0 | unlocked | any thread that acquires the lock, to 1 or 2 |
//! | 1 | held, no thread is blocked | the holder, to 0; a waiter, to 2 |
//! | 2 | held, a thread may be blocked | the holder, to 0, which must then wake a thread |
//!
//! A thread that was blocked cannot know whether others still are, so it acquires the lock as 2. That costs one
//! superfluous wake-up at most.
//!
//! # Memory ordering
//!
//! Acquisition is `Acquire` and release is `Release`, on a single word that is changed only by read-modify-writes:
//! all later holders see the writes of each holder. There is no second word, and hence no fence. A waiter's 2 and a
//! holder's 0 are changes of the same word, and so in one order. Either the swap to 0 reads the 2, and the holder
//! wakes a thread; or the 2 comes after the 0, and then the swap that wrote the 2 has acquired the lock.
//!
//! # Fairness
//!
//! None. Any thread acquires the lock when it finds it unlocked; a woken thread may find it held, any number of
//! times. That is the purpose: the lock is not idle while a woken thread waits for a CPU.
//!
//! # Stopped or terminated threads
//!
//! A stopped or dead holder blocks all other threads. A *waiter* that is killed between its wake-up and its next
//! check consumes the wake-up: the others stay blocked until the next contended unlock. [`Robust`](crate::Robust)
//! survives both.
//!
//! # References
//!
//! `calock` and `calock_spin` (lock types `c`, `C`) in Hubertus Franke, "Lightweight userspace semaphores",
//! linux-kernel, February 2002. The three values instead of a counter: the third mutex of Ulrich Drepper, "Futexes
//! Are Tricky".

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

/// A convoy-avoidance mutex of 4 bytes that spins up to a limit before it blocks.
///
/// # Examples
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

/// A convoy-avoidance mutex of 4 bytes that blocks without spinning.
///
/// # Examples
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
        /// Returns an unlocked lock.
        pub fn new() -> Self {
            CalockSpin { word: AtomicU32::new(FREE), counts: C::ZERO, kind: PhantomData }
        }
    }

    /// Acquires the lock, and waits if it is held.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_by(None);
        }
    }

    /// Acquires the lock if it is unlocked now.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    /// Releases the lock, and wakes the thread that has been blocked longest, if there is one.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        if self.word.swap(FREE, Release) == SLEPT_ON {
            futex::wake::<S>(&self.word, 1, futex::ALL);
        }
    }

    /// Returns whether a thread holds the lock at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) != FREE
    }

    /// Returns the counters of this lock.
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
raw_mutex_timed!([S: Scope, C: Count, P: Patience] CalockSpin<S, C, P>, lock_api::GuardSend, Self::try_lock);
