//! Hapax: a first-in, first-out lock that passes values and no pointers between threads.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `arrived` | the number of the acquisition that arrived last; 0 before the first | each arriving thread, by swap |
//! | `departed` | the number of the acquisition that was released last, 0 before the first; or the holder's number with bit 63, if it was noted | the holder |
//! | slot of the array | the number of the last release that selected this slot | a releasing thread |
//!
//! Every acquisition in the process has a number that occurs once (a *hapax*). Threads get them in blocks
//! of 65,536 from a counter of the process. The lock is released if `arrived` equals `departed`. A thread that arrives
//! waits until its predecessor's number, which the swap returned, is in `departed`: it spins on the slot that this
//! number selects, and looks at `departed` again when the slot changes. Numbers that share a slot cost a look in vain.
//!
//! A holder may note its number in `departed`, where a release that has only the lock finds it: from the acquisition to
//! the release, no thread waits for the value that is overwritten.
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

/// The bit of a noted number. No acquisition has a number with it.
const HELD: u64 = 1 << 63;

fn slot(slots: &[AtomicU64], number: u64) -> &AtomicU64 {
    // Neighbouring numbers select slots on different cache lines.
    &slots[(number.wrapping_mul(127) % slots.len() as u64) as usize]
}

impl Hapax {
    /// Acquires the lock, with this array, and a number that no other acquisition has and that is not 0.
    #[inline(always)]
    pub fn acquire_as(&self, slots: &[AtomicU64], own: u64) {
        let before = self.arrived.swap(own, Ordering::AcqRel);
        if self.departed.load(Ordering::Acquire) != before {
            self.wait(slot(slots, before), before);
        }
    }

    /// Acquires the lock with such a number, if it is released.
    #[inline(always)]
    pub fn try_acquire_as(&self, own: u64) -> bool {
        // `arrived` never has the value of a noted number, so the comparison then fails.
        let departed = self.departed.load(Ordering::Acquire);
        self.arrived.compare_exchange(departed, own, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Notes the number of the holder, which is the calling thread, in the lock.
    #[inline(always)]
    pub fn note(&self, own: u64) {
        self.departed.store(own | HELD, Ordering::Relaxed);
    }

    /// Returns the number that the holder noted.
    #[inline(always)]
    pub fn noted(&self) -> u64 {
        self.departed.load(Ordering::Relaxed) & !HELD
    }

    /// Returns whether a thread holds the lock at this moment.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        self.departed.load(Ordering::Relaxed) != self.arrived.load(Ordering::Relaxed)
    }

    #[cold]
    fn wait(&self, slot: &AtomicU64, before: u64) {
        loop {
            let seen = slot.load(Ordering::Acquire);
            if self.departed.load(Ordering::Acquire) == before {
                return;
            }
            spin_until(|| slot.load(Ordering::Relaxed) != seen);
        }
    }

    /// Releases the lock, which was acquired with this number and this array.
    #[inline(always)]
    pub fn release_as(&self, slots: &[AtomicU64], own: u64) {
        // The lock's memory is not accessed after this store.
        self.departed.store(own, Ordering::Release);
        slot(slots, own).swap(own, Ordering::Release);
    }
}

/// The counter of the blocks that threads take.
pub struct Blocks(std::sync::atomic::AtomicU64);

impl Blocks {
    /// Returns a counter that has given no block. The number 0 is in none that it gives.
    pub const fn new() -> Self {
        Self(std::sync::atomic::AtomicU64::new(1))
    }

    /// Returns the number of an acquisition, from the thread's next number (0 without one): not 0, and no other thread
    /// with this counter has it. The thread's next number is the one after it.
    #[inline(always)]
    pub fn number(&self, next: u64) -> u64 {
        if next.is_multiple_of(BLOCK) { self.0.fetch_add(1, Ordering::Relaxed) * BLOCK } else { next }
    }
}

thread_local! {
    /// The next number of the thread.
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

impl Algorithm for Hapax {
    type Held = u64;

    fn new() -> Self {
        Self { arrived: AtomicU64::new(0), departed: AtomicU64::new(0) }
    }

    #[inline(always)]
    fn acquire(&self) -> u64 {
        static BLOCKS: Blocks = Blocks::new();
        let own = NEXT.with(|next| {
            let own = BLOCKS.number(next.get());
            next.set(own + 1);
            own
        });
        self.acquire_as(hapax_slots(), own);
        own
    }

    #[inline(always)]
    unsafe fn release(&self, held: u64) {
        self.release_as(hapax_slots(), held);
    }
}
