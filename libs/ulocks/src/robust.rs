//! The robust lock: when its holder dies, the next owner acquires the lock and receives a report of the death.
//!
//! # State
//!
//! A single word of 64 bits, so that the holder and its start time change together.
//!
//! | bits of `word` | name | meaning |
//! |---|---|---|
//! | 0..30 | | the holder's thread number; 0: unlocked |
//! | 30 | `SUSPECT` | a holder died, and no thread has declared the data consistent since |
//! | 31 | `SLEPT_ON` | a thread may be blocked: a release must wake one |
//! | 32..64 | | start time of the holder's thread, which distinguishes it from a later thread with the same number |
//!
//! Waiters block on the lower half, for 1 ms at first and 16 ms at most. A waiter whose sleep ends with the holder
//! unchanged checks whether the holder is alive. If it is not, the waiter acquires the lock by a compare-exchange of
//! the whole word. Only one waiter can succeed, so each death is reported to exactly one next owner.
//!
//! # Memory ordering
//!
//! Acquisition is `Acquire` and release is `Release`, on a single word, and hence there is no fence. A dead holder
//! released nothing. Its successor sees its writes because the kernel ended the thread before it reported the end.
//!
//! # Fairness
//!
//! None: any thread acquires an unlocked lock.
//!
//! # Stopped or terminated threads
//!
//! A stopped holder is alive: the others wait. A waiter detects a dead holder at its next check, 1 to 16 ms later, or
//! when its time is over: a timed wait that fails has checked, and so has a `try_lock`. The same check replaces a
//! wake-up that was lost with a killed *waiter*, so no survivor waits forever. Limits:
//!
//! - Thread numbers are valid within one pid namespace, and start times within one time namespace: processes in
//!   different containers must not share a lock.
//! - `/proc` must be mounted for a reused number, and a zombie that its parent has not waited for, to be detected.
//! - A process that unmaps the memory, or calls exec, while it holds the lock is alive, and so holds it.
//! - A process that overwrites the word cannot be excluded.
//!
//! The kernel has a mechanism too (`set_robust_list`), and glibc uses it. It reports a death within 20 µs. However,
//! it links the locks that a thread holds by pointers inside the locks, so a process that overwrites them crashes the
//! others. It also gives up after 2,048 held locks, and has one list per thread, which glibc owns. The price of
//! avoiding it is the delay.
//!
//! # References
//!
//! The contract is that of POSIX's `PTHREAD_MUTEX_ROBUST` and the kernel's Documentation/locking/robust-futexes.rst.
//! The evidence that a holder lives is the start time of its thread from proc(5), by which service managers recognise
//! reused pids.

use crate::{
    count::{Count, NoCount},
    futex::{self, Deadline, Private, Scope, Wait},
    thread_id::{self, ThreadId},
};
use std::{
    marker::PhantomData,
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    time::{Duration, Instant},
};

const TID: u64 = (1 << 30) - 1;
const SUSPECT: u64 = 1 << 30;
const SLEPT_ON: u64 = 1 << 31;

/// Time that a waiter blocks before its first check whether the holder is alive; it doubles with each check, up to
/// `LAST_LOOK`.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(16);

/// State in which the last owner left the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "after a death the data may be half written"]
pub enum Inherited {
    /// The last owner released the lock.
    Clean,
    /// The last owner died while it held the lock. Each death is reported once.
    OwnerDied,
}

/// A mutex of 8 bytes that reports the death of its owner.
///
/// The guard cannot be sent to another thread.
///
/// # Examples
///
/// ```
/// use ulocks::{Inherited, Robust};
///
/// let lock = Robust::<ulocks::Private>::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| lock.lock()); // ends without a release
/// });
/// assert_eq!(lock.lock(), Inherited::OwnerDied);
/// assert!(lock.is_suspect());
/// // ... repair the data ...
/// lock.mark_consistent();
/// # // SAFETY: this thread acquired the lock above.
/// unsafe { lock.unlock() };
/// ```
#[derive(Debug)]
#[repr(C, align(8))]
pub struct Robust<S: Scope = Private, C: Count = NoCount> {
    word: AtomicU64,
    counts: C,
    scope: PhantomData<S>,
}

const _: () = assert!(size_of::<Robust>() == 8);

fn held_by(thread: ThreadId) -> u64 {
    u64::from(thread.started) << 32 | u64::from(thread.tid)
}

fn holder(word: u64) -> ThreadId {
    ThreadId { tid: (word & TID) as u32, started: (word >> 32) as u32 }
}

impl<S: Scope, C: Count> Robust<S, C> {
    /// Returns an unlocked lock.
    pub const fn new() -> Self {
        Robust { word: AtomicU64::new(0), counts: C::ZERO, scope: PhantomData }
    }

    /// Acquires the lock, and waits if it is held; returns the state in which the last owner left it.
    #[inline]
    pub fn lock(&self) -> Inherited {
        match self.take_free() {
            Some(inherited) => inherited,
            None => self.lock_by(None).expect("a wait without a deadline ends with the lock"),
        }
    }

    /// Acquires the lock if it is unlocked now, or if its owner has died.
    ///
    /// An attempt that fails has checked in `/proc` whether the owner is alive, which takes some microseconds.
    #[inline]
    pub fn try_lock(&self) -> Option<Inherited> {
        self.take_free().or_else(|| self.try_the_dead())
    }

    /// Acquires the lock if it becomes unlocked, or its owner dies, within `timeout`.
    pub fn try_lock_for(&self, timeout: Duration) -> Option<Inherited> {
        self.take_free().or_else(|| self.lock_by(Deadline::after(timeout)))
    }

    /// Acquires the lock if it becomes unlocked, or its owner dies, before `deadline`.
    pub fn try_lock_until(&self, deadline: Instant) -> Option<Inherited> {
        self.take_free().or_else(|| self.lock_by(Deadline::at(deadline)))
    }

    /// Releases the lock, and wakes the thread that has been blocked longest, if there is one.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // The start time is cleared with the number: an unlocked word identifies no thread.
        if self.word.fetch_and(SUSPECT, Release) & SLEPT_ON != 0 {
            futex::wake::<S>(self.lower(), 1, futex::ALL);
        }
    }

    /// Returns whether a holder died and no thread has declared the data consistent since.
    ///
    /// The state survives a release.
    pub fn is_suspect(&self) -> bool {
        self.word.load(Relaxed) & SUSPECT != 0
    }

    /// Declares the data consistent again. Call it while you hold the lock.
    pub fn mark_consistent(&self) {
        self.word.fetch_and(!SUSPECT, Relaxed);
    }

    /// Returns whether a thread holds the lock, or died while it held it, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & TID != 0
    }

    /// Returns the counters of this lock.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    #[inline]
    fn take_free(&self) -> Option<Inherited> {
        self.take(held_by(thread_id::current_thread())).then_some(Inherited::Clean)
    }

    /// Acquires a lock whose owner has died. The flag for blocked waiters stays set: the next release wakes one.
    #[cold]
    fn try_the_dead(&self) -> Option<Inherited> {
        let word = self.word.load(Relaxed);
        let current_thread = held_by(thread_id::current_thread());
        (word & TID != 0 && self.take_from_the_dead(word, current_thread)).then_some(Inherited::OwnerDied)
    }

    /// Acquires the lock if it is unlocked, and keeps the flags for its data and its waiters.
    #[inline]
    fn take(&self, current_thread: u64) -> bool {
        let mut word = self.word.load(Relaxed);
        while word & TID == 0 {
            match self.word.compare_exchange_weak(word, word & (SUSPECT | SLEPT_ON) | current_thread, Acquire, Relaxed)
            {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    #[cold]
    fn lock_by(&self, deadline: Option<Deadline>) -> Option<Inherited> {
        self.counts.write_contended();
        let current_thread = held_by(thread_id::current_thread());
        let mut slept = 0;
        let mut look = FIRST_LOOK;
        loop {
            // A thread that was blocked cannot know whether others still are.
            if self.take(current_thread | slept) {
                return Some(Inherited::Clean);
            }
            let word = self.word.load(Relaxed);
            if word & TID == 0 {
                continue;
            }
            slept = SLEPT_ON;
            if self.sleep(word, deadline, look) != Wait::TimedOut {
                continue;
            }
            if self.take_from_the_dead(word | SLEPT_ON, current_thread) {
                return Some(Inherited::OwnerDied);
            }
            if deadline.is_some_and(|deadline| deadline.passed()) {
                return None;
            }
            look = (look * 2).min(LAST_LOOK);
        }
    }

    /// Blocks while the lower half is unchanged, for at most `look`, and not after the deadline.
    ///
    /// A thread that is woken repeatedly for nothing must be able to give up without a quiet moment. The flag for
    /// blocked waiters is set in any case, so a woken thread that gives up takes no wake-up from the others.
    fn sleep(&self, word: u64, deadline: Option<Deadline>, look: Duration) -> Wait {
        let marked = word | SLEPT_ON;
        if word != marked && self.word.compare_exchange(word, marked, Relaxed, Relaxed).is_err() {
            return Wait::Changed;
        }
        if deadline.is_some_and(|deadline| deadline.passed()) {
            return Wait::TimedOut;
        }
        self.counts.slept();
        futex::wait::<S>(self.lower(), marked as u32, futex::ALL, futex::sooner(deadline, Some(look)))
    }

    /// Acquires the lock from the holder that `word` names, if that holder has died.
    fn take_from_the_dead(&self, word: u64, current_thread: u64) -> bool {
        let inherited = word & SLEPT_ON | SUSPECT | current_thread;
        thread_id::has_ended(holder(word)) && self.word.compare_exchange(word, inherited, Acquire, Relaxed).is_ok()
    }

    /// Returns the half of the word that the kernel uses as the futex.
    fn lower(&self) -> &AtomicU32 {
        let halves = self.word.as_ptr().cast::<AtomicU32>();
        // SAFETY: both halves are within the word, aligned for 32 bits, and live as long as `self`. The reference is
        // only passed to the kernel, which reads the half by itself; this program never accesses it through the
        // reference.
        unsafe { &*halves.add(usize::from(cfg!(target_endian = "big"))) }
    }
}

impl<S: Scope, C: Count> Default for Robust<S, C> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: the compare-exchange from an unlocked word, or from one whose owner has died, excludes all other threads. A
// thread that locks through `lock_api` can query a death by `is_suspect`. The guard cannot leave its thread, whose
// number is in the word.
unsafe impl<S: Scope, C: Count> lock_api::RawMutex for Robust<S, C> {
    #[allow(clippy::declare_interior_mutable_const)] // a template for a new lock, never shared
    const INIT: Self = Self::new();
    type Guard = lock_api::GuardNoSend;

    fn lock(&self) -> Self::Guard {
        let _ = Robust::lock(self);
        lock_api::GuardNoSend::new()
    }

    fn try_lock(&self) -> Option<Self::Guard> {
        Robust::try_lock(self).map(|_| lock_api::GuardNoSend::new())
    }

    unsafe fn unlock(&self, _: Self::Guard) {
        // SAFETY: the caller holds the lock, because it has the guard.
        unsafe { Robust::unlock(self) }
    }

    fn is_locked(&self) -> bool {
        Robust::is_locked(self)
    }
}

raw_mutex_04!([S: Scope, C: Count] Robust<S, C>);

// SAFETY: `Some` is returned only if the lock was acquired.
unsafe impl<S: Scope, C: Count> lock_api::RawMutexTimed for Robust<S, C> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> Option<Self::Guard> {
        Robust::try_lock_for(self, timeout).map(|_| lock_api::GuardNoSend::new())
    }

    fn try_lock_until(&self, deadline: Instant) -> Option<Self::Guard> {
        Robust::try_lock_until(self, deadline).map(|_| lock_api::GuardNoSend::new())
    }
}

raw_mutex_timed_04!([S: Scope, C: Count] Robust<S, C>);
