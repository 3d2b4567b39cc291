//! Hapax: a first-in, first-out lock that passes values and no pointers between threads.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `arrived` | the number of the acquisition that arrived last; 0 before the first | each arriving thread, by swap |
//! | `departed` | the number of the acquisition that was released last; 0 before the first | the holder |
//! | slot of the array | the number of the last release that selected this slot | a releasing thread |
//!
//! Every acquisition in the process has a number that occurs once (a *hapax*). Threads get them in blocks
//! of 65,536 from a counter of the process. The lock is released if `arrived` equals `departed`. A thread that arrives
//! waits until its predecessor's number, which the swap returned, is in `departed`: it spins on the slot that this
//! number selects, and looks at `departed` again when the slot changes. Numbers that share a slot cost a look in vain.
//!
//! # Ordering
//! Arriving is an `AcqRel` swap. `departed` is stored with `Release` and read with `Acquire`: that is the handoff of
//! the data. A waiter reads the slot and then `departed`; a releasing thread stores `departed` and then swaps the slot
//! (`Release`, read with `Acquire`). So a waiter that has read the new number in the slot sees the new `departed`, and
//! one that has read an older one sees the slot change. A number is written once, so a slot does not return to an
//! earlier value. The slot needs a swap: a thread can be late with its number, and write it over that of its successor.
//! By a store, a waiter that reads the late number would not be ordered after the successor's release, and could read
//! an old `departed` and wait forever. The model found that. A swap keeps the order (it continues the release
//! sequence).
//!
//! # Fairness
//! Strict, first in, first out.
//!
//! # A stopped or dead holder
//! As with `ticket`.
//!
//! # Source
//! Dave Dice and Alex Kogan, "Hapax Locks: Value-Based Mutual Exclusion", arXiv 2511.14608 (2025). Known of it are the
//! abstract and summaries: numbers that are unique per acquisition, from a block allocator; two words; arrival and
//! release in constant time; a shared waiting array of 4,096 slots. The rest is this author's: the size of a block, the
//! hash, and the order and the kind of the writes in the release. The variant with visible waiters is not here.

use super::algorithm::Algorithm;
use super::atomic::{AtomicU64, Ordering, hapax_slots, spin_until};
use std::cell::Cell;

/// The number of numbers that a thread takes from the counter at once.
const BLOCK: u64 = 1 << 16;

pub struct Hapax {
    arrived: AtomicU64,
    departed: AtomicU64,
}

fn slot(number: u64) -> &'static AtomicU64 {
    let slots = hapax_slots();
    // Neighbouring numbers select slots on different cache lines.
    &slots[(number.wrapping_mul(127) % slots.len() as u64) as usize]
}

impl Hapax {
    /// Acquires the lock with a number that no other acquisition has, and that is not 0.
    #[inline(always)]
    pub fn acquire_as(&self, own: u64) -> u64 {
        let before = self.arrived.swap(own, Ordering::AcqRel);
        if self.departed.load(Ordering::Acquire) != before {
            self.wait(before);
        }
        own
    }

    #[cold]
    fn wait(&self, before: u64) {
        let slot = slot(before);
        loop {
            let seen = slot.load(Ordering::Acquire);
            if self.departed.load(Ordering::Acquire) == before {
                return;
            }
            spin_until(|| slot.load(Ordering::Relaxed) != seen);
        }
    }

    #[inline(always)]
    pub fn release_as(&self, own: u64) {
        self.departed.store(own, Ordering::Release);
        slot(own).swap(own, Ordering::Release);
    }
}

thread_local! {
    /// The next number of the thread.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// Returns a number that is not 0 and that no thread has had.
#[inline(always)]
fn number() -> u64 {
    static BLOCKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NUMBER.with(|next| {
        if next.get().is_multiple_of(BLOCK) {
            next.set(BLOCKS.fetch_add(1, Ordering::Relaxed) * BLOCK);
        }
        let number = next.get();
        next.set(number + 1);
        number
    })
}

impl Algorithm for Hapax {
    type Held = u64;

    fn new() -> Self {
        Self { arrived: AtomicU64::new(0), departed: AtomicU64::new(0) }
    }

    #[inline(always)]
    fn acquire(&self) -> u64 {
        self.acquire_as(number())
    }

    #[inline(always)]
    unsafe fn release(&self, held: u64) {
        self.release_as(held);
    }
}
