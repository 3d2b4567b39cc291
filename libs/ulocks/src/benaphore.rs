//! The benaphore: an atomic counter in front of any semaphore, so that only contended operations enter the kernel.
//!
//! # State
//!
//! | `count` | meaning |
//! |---|---|
//! | 0 | unlocked |
//! | 1 | held |
//! | n > 1 | held, and n - 1 threads wait for the semaphore or are about to |
//!
//! The count of the semaphore itself starts at 0 and contains the wake-ups that no thread has consumed yet.
//!
//! # Memory ordering
//!
//! `lock` is an `Acquire` add and `unlock` a `Release` subtract on the same counter. A thread that finds the lock
//! unlocked reads the value of the last unlock, or one in the release sequence that it heads (every change of the
//! counter is a read-modify-write). It therefore sees the writes of the last holder. A thread that waits is ordered
//! by the semaphore: a release happens before the acquire that takes its unit. No fence is missing: one modification
//! order, that of `count`, determines both which thread waits and which thread wakes.
//!
//! # Lifetime
//!
//! That of its semaphore. Between the subtraction and the release of the semaphore, a holder still owns the lock,
//! since the waiter needs that unit. If the thread that takes the last unit of the semaphore may free it
//! ([`FutexSem`](crate::FutexSem), [`SysvSem`](crate::SysvSem)), then the thread that holds the lock last may free
//! the memory.
//!
//! # Fork
//!
//! A forked child may use a lock that its thread held or that no thread held, if no other thread waited. The count
//! includes each thread of the parent that does not exist in the child.
//!
//! # Fairness
//!
//! That of the semaphore. The lock is never unlocked while a thread waits, because `unlock` hands it off, so no
//! thread can barge in. With [`SysvSem`](crate::SysvSem) it is first come, first served.
//!
//! # Stopped or terminated threads
//!
//! A stopped holder blocks all other threads while it is stopped; a dead one blocks them forever. A *waiter* that
//! dies stays in the count, so the lock will be handed off to a dead thread. Do not use this lock for processes that
//! may be killed.
//!
//! # References
//!
//! Benoît Schillings, "Be Engineering Insights: Benaphores", Be Newsletter 1-26, 1996; used to measure lock latency
//! in the Be Newsletter of 1998. `usema` in Hubertus Franke's ulocks of 2002 uses the same idea.

use crate::{
    Semaphore,
    atomic::{AtomicU32, Ordering::*},
    count::{Count, Counted, NoCount},
};

/// A lock made of an atomic counter and a [`Semaphore`].
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use ulocks::{Benaphore, SysvSem};
///
/// let lock = Benaphore::new(SysvSem::new(0)?);
/// lock.lock();
/// assert!(!lock.try_lock());
/// lock.unlock();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Benaphore<S: Semaphore, C: Count = NoCount> {
    count: AtomicU32,
    counts: C,
    semaphore: S,
}

impl<S: Semaphore> Benaphore<S> {
    const_unless_loom! {
        /// Returns an unlocked lock around `semaphore`, whose count must be 0.
        pub fn new(semaphore: S) -> Self {
            Benaphore { count: AtomicU32::new(0), counts: NoCount, semaphore }
        }
    }
}

impl<S: Semaphore> Benaphore<S, Counted> {
    /// Returns an unlocked lock with statistics around `semaphore`, whose count must be 0.
    pub fn counting(semaphore: S) -> Self {
        Benaphore { count: AtomicU32::new(0), counts: Counted::ZERO, semaphore }
    }
}

impl<S: Semaphore, C: Count> Benaphore<S, C> {
    /// Acquires the lock, and waits if it is held.
    pub fn lock(&self) {
        if self.count.fetch_add(1, Acquire) > 0 {
            self.counts.write_contended();
            self.counts.slept();
            self.semaphore.acquire();
        }
    }

    /// Acquires the lock if it is unlocked now.
    pub fn try_lock(&self) -> bool {
        self.count.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    /// Releases the lock, or hands it off to a waiter.
    ///
    /// The caller must hold the lock: after an unlock of an unlocked lock, the next thread that acquires it waits
    /// forever.
    pub fn unlock(&self) {
        if self.count.fetch_sub(1, Release) > 1 {
            self.semaphore.release();
        }
    }

    /// Returns whether a thread holds the lock at this moment.
    pub fn is_locked(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    /// Returns the counters of this lock.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    /// Returns the semaphore.
    pub fn semaphore(&self) -> &S {
        &self.semaphore
    }

    /// Returns the semaphore for modification, for example for a semaphore that must be initialised at its final
    /// address.
    pub fn semaphore_mut(&mut self) -> &mut S {
        &mut self.semaphore
    }
}
