//! The robust lock: when its holder dies, the next owner gets the lock, and is told.
//!
//! # State
//! One word of 64 bits, so that who holds and since when that thread has lived change together.
//!
//! | `word` bits | name | meaning |
//! |---|---|---|
//! | 0..30 | | the holder's thread number; 0: free |
//! | 30 | `SUSPECT` | a holder died, and nobody has said yet that the data is whole again |
//! | 31 | `SLEPT_ON` | somebody may sleep: freeing must wake one |
//! | 32..64 | | when the holder's thread started, which tells it from a later one with the same number |
//!
//! Waiters sleep on the lower half, 1 ms at first and 16 ms at most. Whoever sleeps that long with the holder
//! unchanged looks whether it is still alive; if not, it takes the lock from the dead one by a compare-exchange on
//! the whole word. Only one can succeed, so each death is told to exactly one next owner.
//!
//! # Ordering
//! Taking is `Acquire`, freeing `Release`, on one word. A dead holder released nothing; that its writes are seen by who
//! takes over comes from the kernel, which ended the thread before it said so. No fence: one word.
//!
//! # Fairness
//! None: a free lock is taken by whoever finds it.
//!
//! # A stopped or dead holder
//! A stopped holder is alive: the others wait. A dead one is found by a waiter when its next look is due, 1 to 16 ms
//! later, or when its time is over: a timed wait that ends in vain has looked, and so has a try. The same look replaces a wake-up
//! that a killed *waiter* took with it, so no survivor hangs. What it cannot do:
//!
//! - Thread numbers mean something within one pid namespace, start times within one time namespace: processes in
//!   different containers must not share one.
//! - `/proc` must be mounted for a reused number, and an unreaped zombie, to be noticed.
//! - A process that unmaps the memory, or execs, while holding is alive, and so holds.
//! - Nothing can keep out a process that writes over the word.
//!
//! The kernel has a mechanism too (`set_robust_list`), and glibc uses it: it is told within 20 µs, but it links the
//! locks that a thread holds by pointers inside the locks (a process that overwrites them crashes the others), gives up
//! after 2,048 held locks, and has one list per thread, which glibc owns. The price of doing without is the delay.
//!
//! # Source
//! The contract is POSIX's `PTHREAD_MUTEX_ROBUST` and the kernel's Documentation/locking/robust-futexes.rst; the sign
//! of life is a thread's start time from proc(5), as service managers use it to tell reused pids apart.

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

/// How long to sleep before looking whether the holder lives: at first, and, doubled with each look, at most.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(16);

/// What the last owner left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "after a death the data may be half written"]
pub enum Inherited {
    /// The last owner freed the lock.
    Clean,
    /// The last owner died holding it. This is said once for each death.
    OwnerDied,
}

/// The robust lock. 8 bytes. Its guard stays with its thread.
///
/// ```
/// use ulocks::{Inherited, Robust};
///
/// let lock = Robust::<ulocks::Private>::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| lock.lock()); // ends without freeing it
/// });
/// assert_eq!(lock.lock(), Inherited::OwnerDied);
/// assert!(lock.is_suspect());
/// // ... repair the data ...
/// lock.mark_consistent();
/// # // SAFETY: locked above.
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
    /// A free lock.
    pub const fn new() -> Self {
        Robust { word: AtomicU64::new(0), counts: C::ZERO, scope: PhantomData }
    }

    /// Takes the lock, waiting for it if it is held, and says what the last owner left.
    #[inline]
    pub fn lock(&self) -> Inherited {
        match self.take_free() {
            Some(inherited) => inherited,
            None => self.lock_by(None).expect("a wait without a deadline ends with the lock"),
        }
    }

    /// Acquires the lock if it is free now, or if its owner has died. A try that fails has looked up in `/proc` whether
    /// the owner lives: some microseconds.
    #[inline]
    pub fn try_lock(&self) -> Option<Inherited> {
        self.take_free().or_else(|| self.try_the_dead())
    }

    /// Acquires the lock if it becomes free within `timeout`, or if its owner dies within it.
    pub fn try_lock_for(&self, timeout: Duration) -> Option<Inherited> {
        self.take_free().or_else(|| self.lock_by(Deadline::after(timeout)))
    }

    /// Acquires the lock if it becomes free before `deadline`, or if its owner dies before it.
    pub fn try_lock_until(&self, deadline: Instant) -> Option<Inherited> {
        self.take_free().or_else(|| self.lock_by(Deadline::at(deadline)))
    }

    /// Frees the lock, and wakes the thread that has slept longest, if any does.
    ///
    /// # Safety
    /// The lock is held, and the caller gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // The start time goes with the number: a free word says nothing about anybody.
        if self.word.fetch_and(SUSPECT, Release) & SLEPT_ON != 0 {
            futex::wake::<S>(self.lower(), 1, futex::ALL);
        }
    }

    /// Whether a holder died and nobody has said since that the data is whole. It outlives unlocking.
    pub fn is_suspect(&self) -> bool {
        self.word.load(Relaxed) & SUSPECT != 0
    }

    /// Says that the data is whole again. Call it while holding the lock.
    pub fn mark_consistent(&self) {
        self.word.fetch_and(!SUSPECT, Relaxed);
    }

    /// Whether somebody holds the lock, or died holding it, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & TID != 0
    }

    /// What happened on this lock, if it counts.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    #[inline]
    fn take_free(&self) -> Option<Inherited> {
        self.take(held_by(thread_id::mine())).then_some(Inherited::Clean)
    }

    /// Acquires a lock whose owner has died. Blocked waiters stay marked: the next release wakes one.
    #[cold]
    fn try_the_dead(&self) -> Option<Inherited> {
        let word = self.word.load(Relaxed);
        let mine = held_by(thread_id::mine());
        (word & TID != 0 && self.take_from_the_dead(word, mine)).then_some(Inherited::OwnerDied)
    }

    /// Takes the lock if it is free, keeping what is known about its data and its sleepers.
    #[inline]
    fn take(&self, mine: u64) -> bool {
        let mut word = self.word.load(Relaxed);
        while word & TID == 0 {
            match self.word.compare_exchange_weak(word, word & (SUSPECT | SLEPT_ON) | mine, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    #[cold]
    fn lock_by(&self, deadline: Option<Deadline>) -> Option<Inherited> {
        self.counts.write_contended();
        let mine = held_by(thread_id::mine());
        let mut slept = 0;
        let mut look = FIRST_LOOK;
        loop {
            // Having slept, it cannot know whether others still do.
            if self.take(mine | slept) {
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
            if self.take_from_the_dead(word | SLEPT_ON, mine) {
                return Some(Inherited::OwnerDied);
            }
            if deadline.is_some_and(|deadline| deadline.passed()) {
                return None;
            }
            look = (look * 2).min(LAST_LOOK);
        }
    }

    /// Sleeps while the lower half stays, for `look` at most, and not once the deadline has passed: whoever is woken
    /// again and again for nothing must not need a quiet moment to give up. The mark of a sleeper is set in any case,
    /// so a thread that was woken and gives up takes no wake from the others.
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

    /// Takes the lock from the holder that `word` names, if that one has died.
    fn take_from_the_dead(&self, word: u64, mine: u64) -> bool {
        let inherited = word & SLEPT_ON | SUSPECT | mine;
        thread_id::has_ended(holder(word)) && self.word.compare_exchange(word, inherited, Acquire, Relaxed).is_ok()
    }

    /// The half that a futex can name, as the kernel sees it.
    fn lower(&self) -> &AtomicU32 {
        let halves = self.word.as_ptr().cast::<AtomicU32>();
        // SAFETY: both halves are within the word, aligned for 32 bits, and live as long as `self`. The reference is
        // only handed to the kernel, which reads the half by itself; this program never accesses it through it.
        unsafe { &*halves.add(usize::from(cfg!(target_endian = "big"))) }
    }
}

impl<S: Scope, C: Count> Default for Robust<S, C> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: exclusion is argued above. Who locks through `lock_api` learns of a death from `is_suspect`. The guard stays
// with its thread, whose number is in the word.
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
        // SAFETY: the caller holds the lock: it has the guard.
        unsafe { Robust::unlock(self) }
    }

    fn is_locked(&self) -> bool {
        Robust::is_locked(self)
    }
}

// SAFETY: `Some` is returned only where the lock was taken.
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
