//! The ticket lock: fair, and it only spins. Here for contrast.
//!
//! # State
//! | word | meaning |
//! |---|---|
//! | `next` | the ticket that the next arrival draws |
//! | `serving` | the ticket that holds the lock, or may take it |
//!
//! Free when both are equal. Both wrap around.
//!
//! # Ordering
//! Handing over is a `Release` store of `serving` (only the holder writes it, so no read-modify-write is needed) and
//! taking is an `Acquire` load of it. The draw is relaxed: it only queues. There is no sleeping, so no wake-up can be
//! lost, and no fence.
//!
//! # Fairness
//! Strict, first come, first served.
//!
//! # A stopped or dead holder
//! Blocks everybody else, and they burn their CPUs meanwhile; a stopped waiter does the same when its turn comes. With
//! more threads than CPUs the holder or the next in line is usually not running, and throughput collapses. A thread
//! that waits long yields its CPU, which softens this and does not cure it. One that has yielded 100,000 times naps for
//! a millisecond each time: its turn may never come, where a process died in line or a stray write changed a word.
//!
//! # Source
//! John Mellor-Crummey and Michael Scott, "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors",
//! ACM TOCS 9(1), 1991, section 2.2, with its backoff proportional to the distance in line.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
        pause,
    },
    count::{Count, NoCount},
    futex::give_way,
};

/// How many rounds to spin before yielding the CPU each round.
const ROUNDS: u32 = 100;

/// The ticket spin lock. 8 bytes. It works between processes as it is: it never asks the kernel for a sleeper.
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
        /// A free lock.
        pub fn new() -> Self {
            Self::starting_at(0)
        }
    }

    const_unless_loom! {
        /// A free lock whose next ticket is `ticket`: for tests of the wrap-around.
        #[doc(hidden)]
        pub fn starting_at(ticket: u32) -> Self {
            Ticket { next: AtomicU32::new(ticket), serving: AtomicU32::new(ticket), counts: C::ZERO }
        }
    }

    /// Takes the lock, spinning in line if it is held.
    #[inline]
    pub fn lock(&self) {
        let mine = self.next.fetch_add(1, Relaxed);
        if self.serving.load(Acquire) != mine {
            self.await_turn(mine);
        }
    }

    /// Takes the lock if it is free now.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // `serving` cannot pass a ticket that nobody has drawn: if this draws `serving`'s, it is still being served.
        let serving = self.serving.load(Acquire);
        self.next.compare_exchange(serving, serving.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    /// Hands the lock to the next in line, or frees it if there is none.
    ///
    /// # Safety
    /// The lock is held, and the caller gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        self.serving.store(self.serving.load(Relaxed).wrapping_add(1), Release);
    }

    /// Whether somebody holds the lock, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.serving.load(Relaxed) != self.next.load(Relaxed)
    }

    /// What happened on this lock, if it counts.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    #[cold]
    fn await_turn(&self, mine: u32) {
        self.counts.write_contended();
        for round in 0.. {
            let before_me = mine.wrapping_sub(self.serving.load(Acquire));
            if before_me == 0 {
                break;
            }
            if cfg!(loom) || round >= ROUNDS {
                give_way(round);
            } else {
                (0..before_me.min(64)).for_each(|_| pause());
            }
        }
        self.counts.spun();
    }
}

raw_mutex!([C: Count] Ticket<C>, lock_api::GuardSend);

// SAFETY: `unlock` hands over to the next in line already.
#[cfg(not(loom))]
unsafe impl<C: Count> lock_api::RawMutexFair for Ticket<C> {
    unsafe fn unlock_fair(&self, _: Self::Guard) {
        // SAFETY: the caller holds the lock: it has the guard.
        unsafe { self.unlock() }
    }
}
