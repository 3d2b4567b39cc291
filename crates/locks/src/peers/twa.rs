//! TWA: a ticket lock whose distant waiters spin on an array that all locks share.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `next` | the ticket of the next thread that arrives | each arriving thread, by addition |
//! | `serving` | the ticket that holds the lock, or may acquire it next | the holder |
//! | slot of the array | a count of its changes | a releasing thread, by addition |
//!
//! A waiter spins on `serving` only if it is next in line. The others spin on the slot that the key of the lock (its
//! address) and their ticket select, and look at `serving` again when the slot changes. Two locks or tickets can share a
//! slot, which costs a look in vain.
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

fn slot(slots: &[AtomicU64], key: usize, ticket: u32) -> &AtomicU64 {
    &slots[(key ^ (ticket as usize).wrapping_mul(127)) % slots.len()]
}

impl Twa {
    /// Returns a lock whose first ticket has this number.
    pub fn starting_at(ticket: u32) -> Self {
        Self { next: AtomicU32::new(ticket), serving: AtomicU32::new(ticket) }
    }

    /// Returns the key of the lock in an array that several locks share.
    #[inline(always)]
    pub fn key(&self) -> usize {
        // Locks under test are aligned to 128 bytes, and mutexes of a program to 8.
        let address = std::ptr::from_ref(self).addr();
        address >> 7 ^ address >> 3
    }

    fn tickets_before(&self, own: u32) -> u32 {
        own.wrapping_sub(self.serving.load(Ordering::Acquire))
    }

    /// Acquires the lock, with this array and this key of the lock; returns the ticket.
    #[inline(always)]
    pub fn acquire_in(&self, slots: &[AtomicU64], key: usize) -> u32 {
        let own = self.next.fetch_add(1, Ordering::Relaxed);
        if self.tickets_before(own) != 0 {
            self.wait(slot(slots, key, own), own);
        }
        own
    }

    /// Acquires the lock if it is released; the ticket is then in [`serving`](Self::serving).
    #[inline(always)]
    pub fn try_acquire(&self) -> bool {
        // A ticket that no thread has drawn cannot have been served: if it is drawn here, it is still served.
        let serving = self.serving.load(Ordering::Acquire);
        self.next.compare_exchange(serving, serving.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Releases the lock, which this ticket holds, with the array and the key of the acquisition.
    #[inline(always)]
    pub fn release_in(&self, slots: &[AtomicU64], key: usize, own: u32) {
        let following = own.wrapping_add(1);
        // The lock's memory is not accessed after this store.
        self.serving.store(following, Ordering::Release);
        slot(slots, key, following.wrapping_add(NEAR)).fetch_add(1, Ordering::Release);
    }

    /// Returns the ticket of the holder, or of the next one.
    #[inline(always)]
    pub fn serving(&self) -> u32 {
        self.serving.load(Ordering::Relaxed)
    }

    /// Returns whether a thread holds the lock at this moment.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        self.serving() != self.next.load(Ordering::Relaxed)
    }

    #[cold]
    fn wait(&self, slot: &AtomicU64, own: u32) {
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
        self.acquire_in(twa_slots(), self.key())
    }

    #[inline(always)]
    unsafe fn release(&self, held: u32) {
        self.release_in(twa_slots(), self.key(), held);
    }
}
