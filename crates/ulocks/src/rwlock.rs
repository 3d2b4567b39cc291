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
//! | word | meaning |
//! |---|---|
//! | `reader_wakes` | the readers' queue: how often it was woken |
//! | `writer_wakes` | the writers' queue: how often it was woken |
//!
//! A sleeper reads its queue's word, then sees in `state` that it must wait and that its bit is set, then sleeps if the
//! queue's word is still what it read. Two queues, because a writer that leaves wakes all of one kind.
//!
//! # Ordering
//! Taking is `Acquire`, freeing is `Release`, all by read-modify-writes of `state`. A waker changes `state` first and
//! the queue's word after (`Release`); a sleeper reads them in the opposite order (`Acquire`). So a sleeper that read
//! the new queue word also sees the new `state`, and one that read the old word will not fall asleep on it, or is
//! asleep already and is woken. No fence: nobody needs to see two words change at once.
//!
//! # Fairness
//! Readers are preferred. They come in whenever no writer holds, even if one waits, so a reader may take the lock again
//! while it has it; and when a writer leaves, all readers that sleep are woken before any writer. A steady stream of
//! readers keeps writers out for ever: [`RwLockFair`](crate::RwLockFair) does not.
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
use std::marker::PhantomData;

const WRITER: u32 = 1 << 31;
const WRITERS: u32 = 1 << 30;
const READERS: u32 = 1 << 29;
const COUNT: u32 = READERS - 1;

/// The readers' lock, as in 2002. 12 bytes.
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
    reader_wakes: AtomicU32,
    writer_wakes: AtomicU32,
    counts: C,
    scope: PhantomData<S>,
}

const _: () = assert!(cfg!(loom) || size_of::<RwLock>() == 12);

impl<S: Scope, C: Count> RwLock<S, C> {
    const_unless_loom! {
        /// A free lock.
        pub fn new() -> Self {
            RwLock {
                state: AtomicU32::new(0),
                reader_wakes: AtomicU32::new(0),
                writer_wakes: AtomicU32::new(0),
                counts: C::ZERO,
                scope: PhantomData,
            }
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
        let left = self.state.fetch_sub(1, Release).wrapping_sub(1);
        if left & (WRITER | COUNT) == 0 && left & WRITERS != 0 {
            self.wake_writer();
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
            let wakes = self.reader_wakes.load(Acquire);
            if self.try_lock_shared() {
                return true;
            }
            // No more can be counted, and who leaves wakes writers only.
            if self.state.load(Relaxed) & (WRITER | COUNT) == COUNT {
                if futex::nap(deadline) {
                    return false;
                }
                continue;
            }
            if !self.mark(WRITER, READERS) {
                continue;
            }
            self.counts.slept();
            // A reader that times out was not counted by any waker: it owes nobody a look.
            if futex::wait::<S>(&self.reader_wakes, wakes, futex::ALL, deadline) == Wait::TimedOut {
                return false;
            }
        }
    }

    #[cold]
    fn lock_exclusive_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.write_contended();
        let mut mark = 0;
        loop {
            let wakes = self.writer_wakes.load(Acquire);
            if self.take_exclusive(mark) {
                return true;
            }
            if !self.mark(WRITER | COUNT, WRITERS) {
                continue;
            }
            mark = WRITERS;
            self.counts.slept();
            if futex::wait::<S>(&self.writer_wakes, wakes, futex::ALL, deadline) == Wait::TimedOut {
                return false;
            }
        }
    }

    /// Sets `mark` if any of `held` is set; says whether it now is.
    fn mark(&self, held: u32, mark: u32) -> bool {
        let state = self.state.load(Relaxed);
        state & held != 0
            && (state & mark != 0 || self.state.compare_exchange(state, state | mark, Relaxed, Relaxed).is_ok())
    }

    #[cold]
    fn unlock_and_wake(&self) {
        // `WRITERS` stays while readers go first: the last of them looks at it.
        let before = self.state.fetch_and(WRITERS, Release);
        if before & READERS != 0 {
            self.reader_wakes.fetch_add(1, Release);
            if futex::wake::<S>(&self.reader_wakes, u32::MAX, futex::ALL) > 0 {
                return;
            }
            // Nobody was there to take the turn (they timed out): it is a writer's, unless it is being taken already.
        }
        if before & WRITERS != 0 && self.state.load(Relaxed) & (WRITER | COUNT) == 0 {
            self.wake_writer();
        }
    }

    fn wake_writer(&self) {
        // If the lock has been taken meanwhile, whoever took it sees the mark when it leaves.
        let mut state = self.state.load(Relaxed);
        while state & (WRITER | COUNT) == 0 && state & WRITERS != 0 {
            match self.state.compare_exchange_weak(state, state & !WRITERS, Relaxed, Relaxed) {
                Ok(_) => {
                    self.writer_wakes.fetch_add(1, Release);
                    futex::wake::<S>(&self.writer_wakes, 1, futex::ALL);
                    return;
                }
                Err(now) => state = now,
            }
        }
    }
}

raw_rwlock!([S: Scope, C: Count] RwLock<S, C>);

#[cfg(not(loom))]
mod timed {
    use super::*;
    use lock_api::GuardSend;
    use std::time::{Duration, Instant};

    // SAFETY: `Some` is returned only where the lock was taken in that mode.
    unsafe impl<S: Scope, C: Count> lock_api::RawRwLockTimed for RwLock<S, C> {
        type Duration = Duration;
        type Instant = Instant;

        fn try_lock_shared_for(&self, timeout: Duration) -> Option<GuardSend> {
            (self.try_lock_shared() || self.lock_shared_by(Deadline::after(timeout))).then(GuardSend::new)
        }
        fn try_lock_shared_until(&self, deadline: Instant) -> Option<GuardSend> {
            (self.try_lock_shared() || self.lock_shared_by(Deadline::at(deadline))).then(GuardSend::new)
        }
        fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardSend> {
            (self.try_lock_exclusive() || self.lock_exclusive_by(Deadline::after(timeout))).then(GuardSend::new)
        }
        fn try_lock_exclusive_until(&self, deadline: Instant) -> Option<GuardSend> {
            (self.try_lock_exclusive() || self.lock_exclusive_by(Deadline::at(deadline))).then(GuardSend::new)
        }
    }
}

#[cfg(loom)]
impl<S: Scope, C: Count> RwLock<S, C> {
    /// A timed read lock, for the models.
    pub fn try_lock_shared_for(&self, timeout: std::time::Duration) -> bool {
        self.try_lock_shared() || self.lock_shared_by(Deadline::after(timeout))
    }
}
