//! BRAVO: readers of any reader-writer lock that do not write to it.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `bias` | 1: readers may use the table | a reader that has the underlying lock, to 1; the writer, to 0 |
//! | `inhibited_until` | the time until which no reader sets `bias` | the writer |
//! | slot of the table | the address of the lock that a thread reads under, 0 if none | that thread |
//!
//! The lock and the thread select a slot. While `bias` is 1, a reader writes the address of the lock into its slot, and
//! has the lock if the slot was 0 and `bias` is still 1. Otherwise it acquires the underlying lock. A writer acquires
//! the underlying lock, sets `bias` to 0, and waits until no slot has the lock's address. It then forbids the bias for
//! nine times the time that this took, so that revocations take at most a tenth of the writers' time.
//!
//! # Ordering
//! A reader writes its slot and then reads `bias`; a writer writes `bias` and then reads the slots. All four are
//! `SeqCst`, so one of the two sees the other. `bias` is set to 1 with `Release` while the underlying lock is held for
//! reading, and read with `Acquire`: a reader that sees 1 sees the data of the writers before. A reader clears its slot
//! with `Release`, which the writer reads with `SeqCst`, so with `Acquire`.
//!
//! # Fairness
//! That of the underlying lock, for the threads that use it. A writer waits for the readers in the table only after it
//! has set `bias` to 0, so new readers do not keep it out.
//!
//! # A stopped or dead holder
//! As with the underlying lock, but a writer spins and yields while it waits for the readers in the table.
//!
//! # Source
//! Dave Dice and Alex Kogan, "BRAVO – Biased Locking for Reader-Writer Locks", USENIX ATC 2019 (arXiv 1810.01553). The
//! table has the paper's 4,096 slots, and the multiplier for the inhibition is the paper's 9. The paper scans the table
//! with vector instructions, where the compiler finds some.

use super::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, Ticks, between_seqcst, spin_until};

/// A reader-writer lock under BRAVO.
pub trait Underlying {
    fn read(&self);

    /// # Safety
    /// The caller has acquired the lock for reading.
    unsafe fn end_read(&self);

    fn write(&self);

    /// # Safety
    /// The caller has acquired the lock for writing.
    unsafe fn end_write(&self);
}

/// The form of an acquisition for reading.
#[derive(Clone, Copy)]
pub enum Reading {
    /// An acquisition by a slot of the table.
    Slot(usize),
    /// An acquisition of the underlying lock.
    Underlying,
}

pub struct Bravo<U> {
    bias: AtomicU32,
    inhibited_until: AtomicU64,
    ticks: Ticks,
    underlying: U,
}

/// The multiple of the time of a revocation for which the bias is forbidden.
const INHIBITION: u64 = 9;

impl<U: Underlying> Bravo<U> {
    pub fn over(underlying: U) -> Self {
        Self { bias: AtomicU32::new(0), inhibited_until: AtomicU64::new(0), ticks: Ticks::new(), underlying }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Acquires the lock for reading; `thread` is a number of the calling thread.
    #[inline(always)]
    pub fn read(&self, table: &[AtomicUsize], thread: usize) -> Reading {
        if self.bias.load(Ordering::Relaxed) == 1 {
            let place = ((self.address() >> 7) ^ thread.wrapping_mul(0x9E37_79B1)) % table.len();
            let slot = &table[place];
            if slot.compare_exchange(0, self.address(), Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                between_seqcst();
                if self.bias.load(Ordering::SeqCst) == 1 {
                    return Reading::Slot(place);
                }
                slot.store(0, Ordering::Release);
            }
        }
        self.underlying.read();
        if self.bias.load(Ordering::Relaxed) == 0 && self.ticks.now() >= self.inhibited_until.load(Ordering::Relaxed) {
            self.bias.store(1, Ordering::Release);
        }
        Reading::Underlying
    }

    /// # Safety
    /// The caller has acquired the lock by the call of [`read`](Self::read) that returned `reading`, with this table.
    #[inline(always)]
    pub unsafe fn end_read(&self, table: &[AtomicUsize], reading: Reading) {
        match reading {
            Reading::Slot(place) => table[place].store(0, Ordering::Release),
            // SAFETY: the caller has the underlying lock for reading.
            Reading::Underlying => unsafe { self.underlying.end_read() },
        }
    }

    /// Acquires the lock for writing.
    #[inline(always)]
    pub fn write(&self, table: &[AtomicUsize]) {
        self.underlying.write();
        if self.bias.load(Ordering::Relaxed) == 1 {
            self.revoke(table);
        }
    }

    #[cold]
    fn revoke(&self, table: &[AtomicUsize]) {
        let began = self.ticks.now();
        self.bias.store(0, Ordering::SeqCst);
        between_seqcst();
        let own = self.address();
        for slot in table {
            spin_until(|| slot.load(Ordering::SeqCst) != own);
        }
        let ended = self.ticks.now();
        self.inhibited_until.store(ended + (ended - began) * INHIBITION, Ordering::Relaxed);
    }

    /// # Safety
    /// The caller has acquired the lock for writing.
    #[inline(always)]
    pub unsafe fn end_write(&self) {
        // SAFETY: the caller has the underlying lock for writing.
        unsafe { self.underlying.end_write() }
    }
}

/// Returns the number of the calling thread.
#[inline(always)]
pub fn this_thread() -> usize {
    static THREADS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1);
    thread_local! {
        static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}
