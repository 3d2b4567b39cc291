//! TWA: a ticket lock whose distant waiters spin on an array that all locks share.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `next` | the ticket of the next thread that arrives | each arriving thread, by addition |
//! | `serving` | the ticket that holds the lock, or may acquire it next | the holder |
//! | slot of the array | a count of its changes | a releasing thread, by addition |
//!
//! A waiter spins on `serving` only if it is next in line. The others spin on the slot that the address of the lock and
//! their ticket select, and look at `serving` again when the slot changes. Two locks or tickets can share a slot, which
//! costs a look in vain.
//!
//! # Ordering
//! `serving` is stored with `Release` and read with `Acquire`. A distant waiter reads the slot and then `serving`; a
//! releasing thread stores `serving` and then adds to the slot (`Release`, read with `Acquire`). So a waiter that has
//! read the new value of the slot sees the new `serving`, and one that has read the old value sees the slot change.
//!
//! # Fairness
//! Strict, first in, first out.
//!
//! # A stopped or dead holder
//! As with `ticket`: a stopped holder or waiter stops all waiters behind it, and throughput collapses with more threads
//! than CPUs.
//!
//! # Source
//! Dave Dice and Alex Kogan, "TWA – Ticket Locks Augmented with a Waiting Array", Euro-Par 2019 (arXiv 1810.01573).
//! The paper's values are the size of the array (4,096), the distance from which it is used (2), and the multiplier of
//! the ticket (127). How the address enters the hash is not known to this author: here it is an exclusive or.

use super::algorithm::Algorithm;
use super::atomic::{AtomicU32, AtomicU64, Ordering, spin_until, twa_slots};

/// The largest distance of a waiter that spins on `serving`: others wait on the array.
const NEAR: u32 = 1;

pub struct Twa {
    next: AtomicU32,
    serving: AtomicU32,
}

impl Twa {
    /// Returns a lock whose first ticket has this number.
    pub fn starting_at(ticket: u32) -> Self {
        Self { next: AtomicU32::new(ticket), serving: AtomicU32::new(ticket) }
    }

    fn slot(&self, ticket: u32) -> &'static AtomicU64 {
        let slots = twa_slots();
        // Locks under test are aligned to 128 bytes, so the lower bits do not differ.
        let lock = std::ptr::from_ref(self).addr() >> 7;
        &slots[(lock ^ (ticket as usize).wrapping_mul(127)) % slots.len()]
    }

    fn tickets_before(&self, own: u32) -> u32 {
        own.wrapping_sub(self.serving.load(Ordering::Acquire))
    }

    #[cold]
    fn wait(&self, own: u32) {
        let slot = self.slot(own);
        loop {
            let seen = slot.load(Ordering::Acquire);
            if self.tickets_before(own) <= NEAR {
                break;
            }
            spin_until(|| slot.load(Ordering::Relaxed) != seen);
        }
        spin_until(|| self.tickets_before(own) == 0);
    }
}

impl Algorithm for Twa {
    type Held = u32;

    fn new() -> Self {
        Self::starting_at(0)
    }

    #[inline(always)]
    fn acquire(&self) -> u32 {
        let own = self.next.fetch_add(1, Ordering::Relaxed);
        if self.tickets_before(own) != 0 {
            self.wait(own);
        }
        own
    }

    #[inline(always)]
    unsafe fn release(&self, held: u32) {
        let following = held.wrapping_add(1);
        // The lock's memory is not accessed after this store: only its address is.
        let slot = self.slot(following.wrapping_add(NEAR));
        self.serving.store(following, Ordering::Release);
        slot.fetch_add(1, Ordering::Release);
    }
}
