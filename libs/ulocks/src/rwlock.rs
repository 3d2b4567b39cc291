//! The readers' lock: many readers or one writer, two queues, and on wake-up the readers go first.
//!
//! # State
//! | `state` bit | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 31 | `WRITER` | a writer holds | that writer | that writer |
//! | 30 | `WRITERS` | a writer may sleep | a writer about to sleep, or that slept and takes it | whoever wakes one |
//! | 29 | `READERS` | a reader may sleep | a reader about to sleep | the writer that wakes them all |
//! | 0..29 | | readers that hold | readers | readers |
//!
//! All sleep on `state`, readers in one of its queues and writers in another, because a writer that leaves wakes all of
//! one kind.
//!
//! # Ordering
//! Taking is `Acquire`, freeing is `Release`, all by read-modify-writes of `state`. A sleeper's mark is in the word
//! that it sleeps on: either who frees the lock sees it, or the sleeper sees that the lock is free. One word, no fence.
//! Readers that come and go keep a writer from falling asleep; when that has happened often it naps.
//!
//! # Lifetime
//! The read-modify-write that frees is the last access of an unlock: the memory may be freed by whoever holds the lock
//! last. After it the kernel gets an address to wake, at most.
//!
//! # Fork
//! A forked child may use one that its thread held or nobody did, whoever waited: the marks of those cost a wake that
//! finds nobody.
//!
//! # Fairness
//! Readers are preferred. They come in whenever no writer holds, even if one waits, so a reader may take the lock again
//! while it has it; and when a writer leaves, all readers that sleep are woken before any writer. A steady stream of
//! readers keeps writers out for ever: [`AdaptiveRw`](crate::AdaptiveRw) and [`RwLockFair`](crate::RwLockFair) do not.
//!
//! # A stopped or dead holder
//! Blocks everybody else (a reader: the writers). A thread that is killed between being woken and looking keeps the
//! wake for itself.
//!
//! # Source
//! `rwlock` (lock type `s`) in Hubertus Franke, "Lightweight userspace semaphores", linux-kernel, February 2002.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    count::{Count, NoCount},
    futex::{self, Deadline, Private, Scope, Wait},
};
use core::marker::PhantomData;

const WRITER: u32 = 1 << 31;
const WRITERS: u32 = 1 << 30;
const READERS: u32 = 1 << 29;
const COUNT: u32 = READERS - 1;

/// The queues of the word.
const READING: u32 = 1;
const WRITING: u32 = 2;

/// So often a writer tries to fall asleep before it naps.
const TRIES: u32 = 16;

/// The readers' lock, as in 2002. 4 bytes.
///
/// ```
/// static NAMES: ulocks::lock_api::RwLock<ulocks::RwLock, Vec<&str>> = ulocks::lock_api::RwLock::new(Vec::new());
/// NAMES.write().push("Franke");
/// assert_eq!(NAMES.read().len() + NAMES.read().len(), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct RwLock<S: Scope = Private, C: Count = NoCount> {
    state: AtomicU32,
    counts: C,
    scope: PhantomData<S>,
}

const _: () = assert!(cfg!(loom) || size_of::<RwLock>() == 4);

impl<S: Scope, C: Count> RwLock<S, C> {
    const_unless_loom! {
        /// A free lock.
        pub fn new() -> Self {
            RwLock { state: AtomicU32::new(0), counts: C::ZERO, scope: PhantomData }
        }
    }

    /// Takes the lock for reading. Where as many readers hold it as can be counted, it waits for one to leave.
    #[inline]
    pub fn lock_shared(&self) {
        if !self.try_lock_shared() {
            self.lock_shared_by(None);
        }
    }

    /// Takes the lock for reading if no writer holds it now, and fewer readers than can be counted: 536,870,911.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        let mut state = self.state.load(Relaxed);
        while state & WRITER == 0 && state & COUNT != COUNT {
            match self.state.compare_exchange_weak(state, state + 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Ends reading. The last reader wakes a writer.
    ///
    /// # Safety
    /// The caller gives up a shared acquisition.
    #[inline]
    pub unsafe fn unlock_shared(&self) {
        let mut state = self.state.load(Relaxed);
        loop {
            let left = state.wrapping_sub(1);
            let wakes = left & (WRITER | COUNT) == 0 && left & WRITERS != 0;
            let free = if wakes { left & !WRITERS } else { left };
            match self.state.compare_exchange_weak(state, free, Release, Relaxed) {
                Ok(_) if wakes => {
                    futex::wake::<S>(&self.state, 1, WRITING);
                    return;
                }
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
    }

    /// Takes the lock for writing.
    #[inline]
    pub fn lock_exclusive(&self) {
        if !self.try_lock_exclusive() {
            self.lock_exclusive_by(None);
        }
    }

    /// Takes the lock for writing if nobody holds it now.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        self.take_exclusive(0)
    }

    /// Ends writing. Wakes the readers that sleep, or, if there are none, a writer.
    ///
    /// # Safety
    /// The caller gives up the exclusive acquisition.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        // While a writer holds no reader is counted, so only the marks of sleepers can be left beside `WRITER`.
        if self.state.compare_exchange(WRITER, 0, Release, Relaxed).is_err() {
            self.unlock_and_wake();
        }
    }

    /// Whether anybody holds the lock, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.state.load(Relaxed) & (WRITER | COUNT) != 0
    }

    /// Whether a writer holds the lock, at this moment.
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        self.state.load(Relaxed) & WRITER != 0
    }

    /// What happened on this lock, if it counts.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    /// Takes the lock for writing if nobody holds it; `mark` is `WRITERS` for a thread that has slept, since others
    /// may still.
    fn take_exclusive(&self, mark: u32) -> bool {
        let mut state = self.state.load(Relaxed);
        while state & (WRITER | COUNT) == 0 {
            match self.state.compare_exchange_weak(state, state | WRITER | mark, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    #[cold]
    fn lock_shared_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.read_contended();
        loop {
            if self.try_lock_shared() {
                return true;
            }
            let state = self.state.load(Relaxed);
            // No more can be counted, and who leaves wakes writers only.
            if state & (WRITER | COUNT) == COUNT {
                if futex::nap(deadline) {
                    return false;
                }
                continue;
            }
            // A reader that times out was not counted by any waker: it owes nobody a look.
            if state & WRITER != 0 && self.sleep(state, READERS, READING, deadline) == Wait::TimedOut {
                return false;
            }
        }
    }

    #[cold]
    fn lock_exclusive_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.write_contended();
        let (mut mark, mut tries) = (0, 0);
        while !self.take_exclusive(mark) {
            let state = self.state.load(Relaxed);
            if state & (WRITER | COUNT) == 0 {
                continue;
            }
            mark = WRITERS;
            match self.sleep(state, WRITERS, WRITING, deadline) {
                Wait::TimedOut => return false,
                Wait::Woken | Wait::Interrupted => tries = 0,
                Wait::Changed => tries += 1,
            }
            if tries > TRIES && futex::nap(deadline) {
                let taken = self.take_exclusive(mark);
                if !taken {
                    self.pass_on();
                }
                return taken;
            }
        }
        true
    }

    /// A writer that may have been woken in the place of another leaves without the lock: the holder is told that one
    /// sleeps, or, if there is none, one is woken now.
    #[cold]
    fn pass_on(&self) {
        loop {
            let state = self.state.load(Relaxed);
            if state & (WRITER | COUNT) == 0 {
                futex::wake::<S>(&self.state, 1, WRITING);
                return;
            }
            if self.state.compare_exchange(state, state | WRITERS, Relaxed, Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Sets `mark` and sleeps in `queue`, unless the word has changed from `state`.
    fn sleep(&self, state: u32, mark: u32, queue: u32, deadline: Option<Deadline>) -> Wait {
        let marked = state | mark;
        if state != marked && self.state.compare_exchange(state, marked, Relaxed, Relaxed).is_err() {
            return Wait::Changed;
        }
        self.counts.slept();
        futex::wait::<S>(&self.state, marked, queue, deadline)
    }

    #[cold]
    fn unlock_and_wake(&self) {
        let mut state = self.state.load(Relaxed);
        loop {
            // `WRITERS` stays while readers go first: the last of them looks at it.
            let free = if state & READERS != 0 { state & WRITERS } else { 0 };
            match self.state.compare_exchange_weak(state, free, Release, Relaxed) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        // If no reader was there to take the turn (they timed out), it is a writer's.
        let readers = state & READERS != 0 && futex::wake::<S>(&self.state, u32::MAX, READING) > 0;
        if !readers && state & WRITERS != 0 {
            futex::wake::<S>(&self.state, 1, WRITING);
        }
    }
}

raw_rwlock!([S: Scope, C: Count] RwLock<S, C>);
raw_rwlock_timed!([S: Scope, C: Count] RwLock<S, C>);

#[cfg(loom)]
impl<S: Scope, C: Count> RwLock<S, C> {
    /// The memory is somebody else's from now on: loom reports whoever touches it still.
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        self.state.with_mut(|_| ());
    }
}
