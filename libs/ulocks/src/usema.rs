//! The fair lock: first come, first served, handed over in user space, with the kernel only when contended.
//!
//! # State
//! | word | bits | meaning |
//! |---|---|---|
//! | `next` | 0..32 | the ticket that the next arrival draws |
//! | `serving` | 1..32 | the ticket that holds the lock, or that will take it (without the ticket's top bit) |
//! | | 0 | `ASLEEP`: a thread whose turn it is not yet may sleep |
//!
//! The lock is free when `next` and `serving` name the same ticket. A ticket is served once, so handing over is
//! naming the next: the lock is never free while someone waits.
//!
//! Each sleeper sleeps on `serving` in one of its 32 queues, by its ticket, so a handover wakes the one whose turn it
//! is; with more than 32 sleepers, one more for every 32, who look and sleep again.
//!
//! # Ordering
//! `serving` carries the data: `Release` when handing over, `Acquire` when finding one's ticket. Drawing a ticket is
//! relaxed; it orders nothing but the queue. `ASLEEP` lives in the word that is slept on, so setting it and handing
//! over are in one order. It is dropped when the ticket drawn last is about to be served. That reads `next`, a second
//! word, before handing over: a thread may draw a ticket just after, see `ASLEEP` still set, and sleep. So whoever
//! drops it wakes all: those sleep again, and set it again. No fence, since nobody relies on having seen both words.
//!
//! # Lifetime
//! The store or exchange of `serving` is the last access of an unlock: the memory may be freed by whoever holds the
//! lock last. After it the kernel gets an address to wake, at most.
//!
//! # Fork
//! A forked child may use one that its thread held or nobody did, if nobody else waited: a thread that did not come
//! along has a ticket, and its turn would never end.
//!
//! # Fairness
//! Strict: nobody is passed, and so nobody can time out, since a ticket cannot be handed back. The price: when there
//! are more threads than CPUs the lock waits for the next in line to be scheduled (in 2002: 2 % of the throughput at
//! 1,000 processes).
//!
//! # A stopped or dead holder
//! Blocks everybody else, and so does a stopped or dead waiter when its turn comes.
//!
//! # Source
//! `usema` and `usema_spin` (lock types `f`, `F`) in Hubertus Franke, "Lightweight userspace semaphores", linux-kernel,
//! February 2002; tickets after Reed and Kanodia, "Synchronization with Eventcounts and Sequencers", 1979.

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

/// The fair lock with a patience: it spins for a while before it sleeps. 8 bytes.
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

/// The fair lock that sleeps at once. 8 bytes.
///
/// ```
/// use ulocks::{Usema, lock_api::Mutex};
///
/// static QUEUE: Mutex<Usema, Vec<u32>> = Mutex::new(Vec::new());
/// QUEUE.lock().push(1);
/// ```
pub type Usema<S = Private, C = NoCount> = UsemaSpin<S, C, Micros<0>>;

const _: () = assert!(cfg!(loom) || size_of::<UsemaSpin>() == 8);

/// A ticket as `serving` writes it.
fn turn(ticket: u32) -> u32 {
    ticket << 1
}

/// The queue in which this turn is waited for.
fn class(turn: u32) -> u32 {
    1 << ((turn >> 1) % 32)
}

impl<S: Scope, C: Count, P: Patience> UsemaSpin<S, C, P> {
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
            UsemaSpin {
                next: AtomicU32::new(ticket),
                serving: AtomicU32::new(ticket << 1),
                counts: C::ZERO,
                kind: PhantomData,
            }
        }
    }

    /// Takes the lock, waiting in line if it is held.
    #[inline]
    pub fn lock(&self) {
        let mine = turn(self.next.fetch_add(1, Relaxed));
        if self.serving.load(Acquire) & !ASLEEP != mine {
            self.await_turn(mine);
        }
    }

    /// Takes the lock if it is free now.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // While ticket `next` is not drawn, `serving` cannot pass it: so if the exchange draws the ticket that was
        // being served, it still is.
        let serving = self.serving.load(Acquire) & !ASLEEP;
        let next = self.next.load(Relaxed);
        turn(next) == serving && self.next.compare_exchange(next, next.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    /// Hands the lock to the next in line, or frees it if there is none.
    ///
    /// # Safety
    /// The lock is held, and the caller gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        let now = self.serving.load(Relaxed);
        if now & ASLEEP != 0 || self.serving.compare_exchange(now, now.wrapping_add(ONE), Release, Relaxed).is_err() {
            self.hand_over();
        }
    }

    /// Whether somebody holds the lock, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.serving.load(Relaxed) & !ASLEEP != turn(self.next.load(Relaxed))
    }

    /// What happened on this lock, if it counts.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    #[cold]
    fn await_turn(&self, mine: u32) {
        self.counts.write_contended();
        if spin::<P>(|| self.serving.load(Acquire) & !ASLEEP == mine) {
            self.counts.spun();
            return;
        }
        loop {
            let now = self.serving.load(Acquire);
            if now & !ASLEEP == mine {
                return;
            }
            if now & ASLEEP == 0 && self.serving.compare_exchange(now, now | ASLEEP, Relaxed, Relaxed).is_err() {
                continue;
            }
            self.counts.slept();
            futex::wait::<S>(&self.serving, now | ASLEEP, class(mine), None);
        }
    }

    /// Hands over while someone may sleep.
    #[cold]
    fn hand_over(&self) {
        // Only waiters change the word meanwhile, and only to set the flag: which, after this point, it has.
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

    /// The memory is somebody else's from now on: loom reports whoever touches it still.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        self.next.with_mut(|_| ());
        self.serving.with_mut(|_| ());
    }
}

raw_mutex!([S: Scope, C: Count, P: Patience] UsemaSpin<S, C, P>, lock_api::GuardSend);

// SAFETY: `unlock` hands over to the next in line already.
#[cfg(not(loom))]
unsafe impl<S: Scope, C: Count, P: Patience> lock_api::RawMutexFair for UsemaSpin<S, C, P> {
    unsafe fn unlock_fair(&self, _: Self::Guard) {
        // SAFETY: the caller holds the lock: it has the guard.
        unsafe { self.unlock() }
    }
}
