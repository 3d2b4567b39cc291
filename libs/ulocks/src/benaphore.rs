//! The benaphore: an atomic counter in front of any semaphore, so that the kernel is asked only when two threads meet.
//!
//! # State
//! | `count` | meaning |
//! |---|---|
//! | 0 | free |
//! | 1 | held |
//! | n > 1 | held, and n - 1 threads wait for the semaphore or are on their way to it |
//!
//! The semaphore's own count starts at 0 and holds the wake-ups that nobody has collected yet.
//!
//! # Ordering
//! Lock is an `Acquire` add and unlock a `Release` subtract on the same counter. A thread that finds the lock free
//! reads the last unlock's value, or one in the release sequence that it heads (every change of the counter is a
//! read-modify-write), so it sees what the last holder wrote. A thread that waits is ordered by the semaphore:
//! release happens before the acquire that takes its unit. No fence is missing: the decision to wait and the decision
//! to wake are made by one modification order, that of `count`.
//!
//! # Lifetime
//! That of its semaphore: between counting itself out and releasing the semaphore a holder still has the lock, since
//! whoever waits needs that unit. So with one that may be freed by whoever takes the last unit
//! ([`FutexSem`](crate::FutexSem), [`SysvSem`](crate::SysvSem)) the memory may be freed by whoever holds the lock last.
//!
//! # Fork
//! A forked child may use one that its thread held or nobody did, if nobody else waited: the count has a place for each
//! thread that did not come along.
//!
//! # Fairness
//! The semaphore's. The lock is never free while someone waits (unlock hands it over), so nobody can barge in: with
//! [`SysvSem`](crate::SysvSem) it is first come, first served.
//!
//! # A stopped or dead holder
//! Blocks everybody else, for as long as it is stopped or for ever. A *waiter* that dies keeps its place in the count,
//! so the lock will be handed to a dead thread: not a lock for processes that may be killed.
//!
//! # Source
//! Benoît Schillings, "Be Engineering Insights: Benaphores", Be Newsletter 1-26, 1996; used to measure lock latency in
//! the Be Newsletter of 1998. The same idea is `usema` in Hubertus Franke's ulocks of 2002.

use crate::{
    Semaphore,
    atomic::{AtomicU32, Ordering::*},
    count::{Count, Counted, NoCount},
};

/// A lock made of an atomic counter and a [`Semaphore`].
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
        /// A free lock around `semaphore`, which must hold nothing (a count of 0).
        pub fn new(semaphore: S) -> Self {
            Benaphore { count: AtomicU32::new(0), counts: NoCount, semaphore }
        }
    }
}

impl<S: Semaphore> Benaphore<S, Counted> {
    /// As [`new`](Benaphore::new), with statistics.
    pub fn counting(semaphore: S) -> Self {
        Benaphore { count: AtomicU32::new(0), counts: Counted::ZERO, semaphore }
    }
}

impl<S: Semaphore, C: Count> Benaphore<S, C> {
    /// Takes the lock, waiting for it if it is held.
    pub fn lock(&self) {
        if self.count.fetch_add(1, Acquire) > 0 {
            self.counts.write_contended();
            self.counts.slept();
            self.semaphore.acquire();
        }
    }

    /// Takes the lock if it is free now.
    pub fn try_lock(&self) -> bool {
        self.count.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    /// Frees the lock, or hands it to a thread that waits. The caller must hold it: unlocking a lock that is free
    /// lets the next one that takes it wait for ever.
    pub fn unlock(&self) {
        if self.count.fetch_sub(1, Release) > 1 {
            self.semaphore.release();
        }
    }

    /// Whether somebody holds the lock, at this moment.
    pub fn is_locked(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    /// What happened on this lock, if it counts.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    /// The semaphore inside.
    pub fn semaphore(&self) -> &S {
        &self.semaphore
    }

    /// The semaphore inside, for one that must be set up where it will stay.
    pub fn semaphore_mut(&mut self) -> &mut S {
        &mut self.semaphore
    }
}
