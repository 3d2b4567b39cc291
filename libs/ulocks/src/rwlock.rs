//! The reader-writer lock of 2002: many readers or one writer, two queues, and readers go first when the lock is
//! released.
//!
//! # State
//!
//! | bits of `state` | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 31 | `WRITER` | a writer holds the lock | that writer | that writer |
//! | 30 | `WRITERS` | a writer may be blocked | a writer that is about to block, or was blocked and acquires the lock | the thread that wakes a writer |
//! | 29 | `READERS` | a reader may be blocked | a reader that is about to block | the writer that wakes all readers |
//! | 0..29 | | number of readers that hold the lock | readers | readers |
//!
//! All threads block on `state`, readers in one of its queues and writers in another, because a writer that leaves
//! wakes all threads of one kind.
//!
//! # Memory ordering
//!
//! Acquisition is `Acquire` and release is `Release`, always by a read-modify-write of `state`. The flag of a blocked
//! waiter is in the word on which it blocks: either the releasing thread sees the flag, or the waiter sees that the
//! lock is unlocked. There is a single word, and hence no fence. Readers that arrive and leave keep a writer from
//! blocking; after 16 such attempts the writer sleeps for a moment.
//!
//! # Lifetime
//!
//! The releasing read-modify-write is the last memory access of an unlock: the thread that holds the lock last may
//! free the memory. After it, the thread at most passes the *address* of the word to the kernel to wake a waiter.
//!
//! # Fork
//!
//! A forked child may use a lock that its thread held or that no thread held, regardless of which threads waited:
//! their flags cost a wake-up that finds no thread.
//!
//! # Fairness
//!
//! Readers are preferred. They acquire the lock whenever no writer holds it, even if one waits, so a reader may
//! acquire the lock recursively. When a writer leaves, all blocked readers are woken before any writer. A steady
//! stream of readers starves the writers; [`AdaptiveRw`](crate::AdaptiveRw) and [`RwLockFair`](crate::RwLockFair) are
//! starvation-free.
//!
//! # Stopped or terminated threads
//!
//! A stopped or dead writer that holds the lock blocks all other threads; a reader blocks the writers. A thread that
//! is killed between its wake-up and its next check consumes the wake-up.
//!
//! # References
//!
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

/// Wait queues of the word.
const READING: u32 = 1;
const WRITING: u32 = 2;

/// Number of failed attempts to block before a writer sleeps for a moment.
const TRIES: u32 = 16;

/// A reader-writer lock of 4 bytes that prefers readers, as in 2002.
///
/// # Examples
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
        /// Returns an unlocked lock.
        pub fn new() -> Self {
            RwLock { state: AtomicU32::new(0), counts: C::ZERO, scope: PhantomData }
        }
    }

    /// Acquires the lock for reading, and waits if a writer holds it.
    ///
    /// If the maximum number of readers (536,870,911) holds the lock, it also waits until one leaves.
    #[inline]
    pub fn lock_shared(&self) {
        if !self.try_lock_shared() {
            self.lock_shared_by(None);
        }
    }

    /// Acquires the lock for reading if no writer holds it now, and fewer than 536,870,911 readers, the largest
    /// count, do.
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

    /// Releases a shared acquisition. The last reader wakes a writer.
    ///
    /// # Safety
    ///
    /// The caller holds the lock for reading, and gives up that acquisition.
    #[inline]
    pub unsafe fn unlock_shared(&self) {
        let mut state = self.state.load(Relaxed);
        loop {
            let next = state.wrapping_sub(1);
            let wakes = next & (WRITER | COUNT) == 0 && next & WRITERS != 0;
            let free = if wakes { next & !WRITERS } else { next };
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

    /// Acquires the lock for writing, and waits if it is held.
    #[inline]
    pub fn lock_exclusive(&self) {
        if !self.try_lock_exclusive() {
            self.lock_exclusive_by(None);
        }
    }

    /// Acquires the lock for writing if no thread holds it now.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        self.take_exclusive(0)
    }

    /// Releases the exclusive acquisition. Wakes all blocked readers or, if there are none, a writer.
    ///
    /// # Safety
    ///
    /// The caller holds the lock for writing, and gives up that acquisition.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        // While a writer holds the lock, no reader is counted, so the word contains only `WRITER` and the flags of
        // blocked threads.
        if self.state.compare_exchange(WRITER, 0, Release, Relaxed).is_err() {
            self.unlock_and_wake();
        }
    }

    /// Returns whether a thread holds the lock at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.state.load(Relaxed) & (WRITER | COUNT) != 0
    }

    /// Returns whether a writer holds the lock at this moment.
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        self.state.load(Relaxed) & WRITER != 0
    }

    /// Returns the counters of this lock.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    /// Acquires the lock for writing if no thread holds it; `mark` is `WRITERS` for a thread that was blocked, since
    /// other writers may still be.
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
            // The count is at its maximum, and a reader that leaves wakes only writers.
            if state & (WRITER | COUNT) == COUNT {
                if futex::nap(deadline) {
                    return false;
                }
                continue;
            }
            // No waker has counted a reader that times out, so it need not check again.
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

    /// Leaves without the lock, for a writer that may have been woken in the place of another one.
    ///
    /// It makes the holder wake another writer; if there is no holder, it wakes one now.
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

    /// Sets `mark` and blocks in `queue`, unless the word has changed from `state`.
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
            // `WRITERS` stays set while readers go first, because the last of them checks it.
            let free = if state & READERS != 0 { state & WRITERS } else { 0 };
            match self.state.compare_exchange_weak(state, free, Release, Relaxed) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        // If no reader was woken, because they timed out, wake a writer.
        let readers = state & READERS != 0 && futex::wake::<S>(&self.state, u32::MAX, READING) > 0;
        if !readers && state & WRITERS != 0 {
            futex::wake::<S>(&self.state, 1, WRITING);
        }
    }
}

raw_rwlock!([S: Scope, C: Count] RwLock<S, C>);
raw_rwlock_timed!([S: Scope, C: Count] RwLock<S, C>, Self::try_lock_shared, Self::try_lock_exclusive);

#[cfg(loom)]
impl<S: Scope, C: Count> RwLock<S, C> {
    /// Declares that the memory may be reused: loom then reports any thread that still accesses it.
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        self.state.with_mut(|_| ());
    }
}
