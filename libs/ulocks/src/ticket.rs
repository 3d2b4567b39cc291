//! The ticket lock: fair, and it only spins. It is here for comparison.
//!
//! # State
//!
//! | word | meaning |
//! |---|---|
//! | `next` | the ticket that the next arriving thread draws |
//! | `serving` | the ticket that holds the lock, or may acquire it |
//!
//! The lock is unlocked when both are equal. Both wrap around.
//!
//! # Memory ordering
//!
//! A handoff is a `Release` store of `serving` (only the holder writes it, so no read-modify-write is needed), and
//! acquisition is an `Acquire` load of it. Drawing a ticket is relaxed: it only determines the order. No thread
//! blocks, so no wake-up can be lost, and there is no fence.
//!
//! # Fairness
//!
//! Strict: first come, first served.
//!
//! # Stopped or terminated threads
//!
//! A stopped or dead holder blocks all other threads, which spin in the meantime; a stopped waiter does the same when
//! it is next. With more threads than CPUs, the holder or the next thread is usually not running, and the throughput
//! collapses. A thread that waits long yields its CPU, which alleviates this and does not solve it. After 100,000
//! yields it sleeps for a millisecond each time: it may never be next, if a process in the queue died or a stray
//! write changed a word.
//!
//! # References
//!
//! John Mellor-Crummey and Michael Scott, "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors",
//! ACM TOCS 9(1), 1991, section 2.2, with its backoff proportional to the distance in the queue.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
        pause,
    },
    count::{Count, NoCount},
    futex::give_way,
};

/// Number of iterations before the thread yields the CPU in each further one.
const ROUNDS: u32 = 100;

/// A ticket spin lock of 8 bytes.
///
/// It works between processes too, because it never blocks in the kernel.
///
/// # Examples
///
/// ```
/// use ulocks::{Ticket, lock_api::Mutex};
///
/// static SHORT: Mutex<Ticket, u32> = Mutex::new(7);
/// assert_eq!(*SHORT.lock(), 7);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Ticket<C: Count = NoCount> {
    next: AtomicU32,
    serving: AtomicU32,
    counts: C,
}

const _: () = assert!(cfg!(loom) || size_of::<Ticket>() == 8);

impl<C: Count> Ticket<C> {
    const_unless_loom! {
        /// Returns an unlocked lock.
        pub fn new() -> Self {
            Self::starting_at(0)
        }
    }

    const_unless_loom! {
        /// Returns an unlocked lock whose next ticket is `ticket`, for tests of the wrap-around.
        #[doc(hidden)]
        pub fn starting_at(ticket: u32) -> Self {
            Ticket { next: AtomicU32::new(ticket), serving: AtomicU32::new(ticket), counts: C::ZERO }
        }
    }

    /// Acquires the lock, and spins in the queue if it is held.
    #[inline]
    pub fn lock(&self) {
        let ticket = self.next.fetch_add(1, Relaxed);
        if self.serving.load(Acquire) != ticket {
            self.await_turn(ticket);
        }
    }

    /// Acquires the lock if it is unlocked now.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // `serving` cannot exceed a ticket that no thread has drawn: if this thread draws the ticket in `serving`,
        // that ticket is still being served.
        let serving = self.serving.load(Acquire);
        self.next.compare_exchange(serving, serving.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    /// Hands the lock off to the next thread in the queue, or releases it if there is none.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        self.serving.store(self.serving.load(Relaxed).wrapping_add(1), Release);
    }

    /// Returns whether a thread holds the lock at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.serving.load(Relaxed) != self.next.load(Relaxed)
    }

    /// Returns the counters of this lock.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    #[cold]
    fn await_turn(&self, ticket: u32) {
        self.counts.write_contended();
        for round in 0.. {
            let distance = ticket.wrapping_sub(self.serving.load(Acquire));
            if distance == 0 {
                break;
            }
            if cfg!(loom) || round >= ROUNDS {
                give_way(round);
            } else {
                (0..distance.min(64)).for_each(|_| pause());
            }
        }
        self.counts.spun();
    }
}

raw_mutex!([C: Count] Ticket<C>, lock_api::GuardSend);
// `unlock` hands the lock off to the next thread in the queue.
raw_mutex_fair!([C: Count] Ticket<C>, unlock);
