//! The fair lock: first come, first served, handed off in user space, with kernel calls only under contention.
//!
//! # State
//!
//! | word | bits | meaning |
//! |---|---|---|
//! | `next` | 0..32 | the ticket that the next arriving thread draws |
//! | `serving` | 1..32 | the ticket that holds the lock, or that will acquire it (without the ticket's top bit) |
//! | | 0 | `ASLEEP`: a thread that is not next may be blocked |
//!
//! The lock is unlocked when `next` and `serving` name the same ticket. A ticket is served once, so a handoff
//! consists of naming the next ticket: the lock is never unlocked while a thread waits.
//!
//! Each waiter blocks on `serving` in one of its 32 queues, selected by its ticket, so a handoff wakes the thread
//! that is next. With more than 32 blocked threads, it wakes one more for every 32, which check the word and block
//! again.
//!
//! # Memory ordering
//!
//! `serving` orders the data: `Release` on a handoff, `Acquire` when a thread finds its ticket. Drawing a ticket is
//! relaxed; it only determines the order. `ASLEEP` is in the word on which threads block, so setting it and handing
//! off are in one order.
//!
//! `ASLEEP` is cleared when the ticket drawn last is about to be served. That requires a read of `next`, a second
//! word, before the handoff. A thread may draw a ticket just after that read, see `ASLEEP` still set, and block. The
//! thread that clears the flag therefore wakes all threads, which block again, and set it again. There is no fence,
//! since no thread relies on having seen both words.
//!
//! # Lifetime
//!
//! The store or exchange of `serving` is the last memory access of an unlock: the thread that holds the lock last may
//! free the memory. After it, the thread at most passes the *address* of the word to the kernel to wake a waiter.
//!
//! # Fork
//!
//! A forked child may use a lock that its thread held or that no thread held, if no other thread waited. A thread
//! that does not exist in the child has a ticket, and would never release the lock.
//!
//! # Fairness
//!
//! Strict: no thread is overtaken. Hence no wait can time out, since a ticket cannot be returned. The price: with
//! more threads than CPUs, the lock waits until the next thread is scheduled (in 2002: 2 % of the throughput at 1,000
//! processes).
//!
//! # Stopped or terminated threads
//!
//! A stopped or dead holder blocks all other threads, and so does a stopped or dead waiter when it is next.
//!
//! # References
//!
//! `usema` and `usema_spin` (lock types `f`, `F`) in Hubertus Franke, "Lightweight userspace semaphores",
//! linux-kernel, February 2002; tickets after Reed and Kanodia, "Synchronization with Eventcounts and
//! Sequencers", 1979.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    count::{Count, NoCount},
    futex::{self, Private, Scope},
    patience::{Micros, Patience, spin},
};
use core::marker::PhantomData;

const ASLEEP: u32 = 1;
const ONE: u32 = 2;

/// A fair mutex of 8 bytes that spins up to a limit before it blocks.
///
/// # Examples
///
/// ```
/// use ulocks::{UsemaSpin, lock_api::Mutex};
///
/// let turns = Mutex::<UsemaSpin, _>::new(0);
/// *turns.lock() += 1;
/// assert_eq!(*turns.lock(), 1);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct UsemaSpin<S: Scope = Private, C: Count = NoCount, P: Patience = Micros<3>> {
    next: AtomicU32,
    serving: AtomicU32,
    counts: C,
    kind: PhantomData<(S, P)>,
}

/// A fair mutex of 8 bytes that blocks without spinning.
///
/// # Examples
///
/// ```
/// use ulocks::{Usema, lock_api::Mutex};
///
/// static QUEUE: Mutex<Usema, Vec<u32>> = Mutex::new(Vec::new());
/// QUEUE.lock().push(1);
/// ```
pub type Usema<S = Private, C = NoCount> = UsemaSpin<S, C, Micros<0>>;

const _: () = assert!(cfg!(loom) || size_of::<UsemaSpin>() == 8);

/// Returns a ticket in the format of `serving`.
fn turn(ticket: u32) -> u32 {
    ticket << 1
}

/// Returns the queue in which a thread waits for this turn.
fn class(turn: u32) -> u32 {
    1 << ((turn >> 1) % 32)
}

impl<S: Scope, C: Count, P: Patience> UsemaSpin<S, C, P> {
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
            UsemaSpin {
                next: AtomicU32::new(ticket),
                serving: AtomicU32::new(ticket << 1),
                counts: C::ZERO,
                kind: PhantomData,
            }
        }
    }

    /// Acquires the lock, and waits in the queue if it is held.
    #[inline]
    pub fn lock(&self) {
        let own_turn = turn(self.next.fetch_add(1, Relaxed));
        if self.serving.load(Acquire) & !ASLEEP != own_turn {
            self.await_turn(own_turn);
        }
    }

    /// Acquires the lock if it is unlocked now.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // While the ticket `next` is not drawn, `serving` cannot exceed it: if the exchange draws the ticket that was
        // being served, that ticket still is.
        let serving = self.serving.load(Acquire) & !ASLEEP;
        let next = self.next.load(Relaxed);
        turn(next) == serving && self.next.compare_exchange(next, next.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    /// Hands the lock off to the next thread in the queue, or releases it if there is none.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        let now = self.serving.load(Relaxed);
        if now & ASLEEP != 0 || self.serving.compare_exchange(now, now.wrapping_add(ONE), Release, Relaxed).is_err() {
            self.hand_off();
        }
    }

    /// Returns whether a thread holds the lock at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.serving.load(Relaxed) & !ASLEEP != turn(self.next.load(Relaxed))
    }

    /// Returns the counters of this lock.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    #[cold]
    fn await_turn(&self, own_turn: u32) {
        self.counts.write_contended();
        if spin::<P>(|| self.serving.load(Acquire) & !ASLEEP == own_turn) {
            self.counts.spun();
            return;
        }
        loop {
            let now = self.serving.load(Acquire);
            if now & !ASLEEP == own_turn {
                return;
            }
            if now & ASLEEP == 0 && self.serving.compare_exchange(now, now | ASLEEP, Relaxed, Relaxed).is_err() {
                continue;
            }
            self.counts.slept();
            futex::wait::<S>(&self.serving, now | ASLEEP, class(own_turn), None);
        }
    }

    /// Hands the lock off while a thread may be blocked.
    #[cold]
    fn hand_off(&self) {
        // In the meantime, only waiters change the word, and only to set the flag, which is set after this point.
        let now = self.serving.fetch_or(ASLEEP, Relaxed) & !ASLEEP;
        let following = now.wrapping_add(ONE);
        let last = turn(self.next.load(Relaxed)).wrapping_sub(ONE);
        // Keep the flag while there is a ticket after the one that is served now.
        if last != following && last != now {
            self.serving.store(following | ASLEEP, Release);
            futex::wake::<S>(&self.serving, u32::MAX, class(following));
        } else {
            self.serving.store(following, Release);
            futex::wake::<S>(&self.serving, u32::MAX, futex::ALL);
        }
    }

    /// Declares that the memory may be reused: loom then reports any thread that still accesses it.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        self.next.with_mut(|_| ());
        self.serving.with_mut(|_| ());
    }
}

raw_mutex!([S: Scope, C: Count, P: Patience] UsemaSpin<S, C, P>, lock_api::GuardSend);
// `unlock` hands the lock off to the next thread in the queue.
raw_mutex_fair!([S: Scope, C: Count, P: Patience] UsemaSpin<S, C, P>, unlock);
