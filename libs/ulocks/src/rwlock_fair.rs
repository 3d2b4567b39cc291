//! The phase-fair reader-writer lock: readers and writers alternate, so neither can starve the other.
//!
//! # State
//!
//! | word | bits | meaning |
//! |---|---|---|
//! | `arrived` | 8..32 | number of readers that have arrived |
//! | | 2 | `NEXT_ASLEEP`: the next writer is blocked until this one has left |
//! | | 1 | `WRITER`: a writer holds the lock, or waits only for the readers before it |
//! | | 0 | the phase: it changes with each writer, so that a reader recognises the end of *its* writer |
//! | `departed` | 8..32 | number of readers that have left |
//! | | 0 | `ASLEEP`: that writer is blocked until they have left |
//! | `next` | | the ticket of the next writer to arrive |
//! | `serving` | | the ticket of the writer that goes next |
//!
//! At most 2^23 readers are admitted. The counts wrap around at 2^24, and when they meet, a writer concludes that all
//! readers have left.
//!
//! Blocked readers wait on `arrived`, the first writer on `departed`, and the other writers on `serving`, each in one
//! of its 32 queues, selected by the ticket. That makes 34 queues, where the lock of 2002 had two. A writer that
//! leaves names the next one first, and releases `arrived` last. The next one, which needs `arrived` released, may
//! have to block on it for a moment too.
//!
//! # Memory ordering
//!
//! A reader acquires by an `Acquire` add to `arrived`, which reads the `Release` of the last writer that left. A
//! writer acquires by an `Acquire` read of `departed`, which reads the `Release` add of the last reader. Writers are
//! ordered by `serving`.
//!
//! Readers need no fence to block, because they block on the word that the writer changes to admit them. The writer's
//! `ASLEEP` is a change of `departed` itself, in one order with the readers' adds. A writer that hands off reads
//! `next` to decide whether to wake a thread, while an arriving writer draws from `next` and then reads `serving`.
//! These are two words, so the four accesses are `SeqCst`, and one of the two threads sees the other.
//!
//! # Lifetime
//!
//! A reader's last memory access is the read-modify-write of `departed`, a writer's that of `arrived`: the thread
//! that holds the lock last may free the memory. After it, the thread at most passes addresses to the kernel to wake
//! waiters.
//!
//! # Fork
//!
//! A forked child may use a lock that its thread held or that no thread held, if no other thread waited. A thread
//! that does not exist in the child is counted among the readers, or has a ticket.
//!
//! # Fairness
//!
//! Writers among themselves: first come, first served. A reader waits for at most one writer, a writer for the
//! readers that arrived before it. The price is that the lock waits for a thread that must first be woken. No wait
//! can time out, since a writer's ticket cannot be returned. A reader that acquires the lock twice can deadlock with
//! a writer that arrives in between.
//!
//! # Stopped or terminated threads
//!
//! A stopped or dead holder blocks all other threads, and so does a stopped or dead waiting writer when it is next.
//!
//! # References
//!
//! Björn Brandenburg and James Anderson, "Reader-Writer Synchronization for Shared-Memory Multiprocessor Real-Time
//! Systems", ECRTS 2009: the phase-fair ticket lock PF-T. Blocking is an addition of this crate.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
        between_seqcst,
    },
    count::{Count, NoCount},
    futex::{self, Private, Scope},
};
use core::marker::PhantomData;

const READER: u32 = 1 << 8;
const WRITER: u32 = 2;
const PHASE: u32 = 1;
const WRITER_BITS: u32 = WRITER | PHASE;
const NEXT_ASLEEP: u32 = 4;
const ASLEEP: u32 = 1;

/// A phase-fair reader-writer lock of 16 bytes.
///
/// # Examples
///
/// ```
/// use ulocks::{RwLockFair, lock_api::RwLock};
///
/// let table = RwLock::<RwLockFair, _>::new([0; 4]);
/// table.write()[2] = 5;
/// assert_eq!(table.read().iter().sum::<i32>(), 5);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct RwLockFair<S: Scope = Private, C: Count = NoCount> {
    arrived: AtomicU32,
    departed: AtomicU32,
    next: AtomicU32,
    serving: AtomicU32,
    counts: C,
    scope: PhantomData<S>,
}

const _: () = assert!(cfg!(loom) || size_of::<RwLockFair>() == 16);

/// Largest number of readers: half of the range of the counts. A thread counts itself before it knows the number of
/// readers, so 2^22 threads, the maximum of Linux, can be added, and the two counts must not meet.
const MOST_READERS: u32 = 1 << 23;

/// Returns the number of readers that have arrived and not left.
fn readers(arrived: u32, departed: u32) -> u32 {
    (arrived >> 8).wrapping_sub(departed >> 8) & (u32::MAX >> 8)
}

/// Returns the queue in which this ticket waits.
fn class(ticket: u32) -> u32 {
    1 << (ticket % 32)
}

impl<S: Scope, C: Count> RwLockFair<S, C> {
    const_unless_loom! {
        /// Returns an unlocked lock.
        pub fn new() -> Self {
            Self::starting_at(0)
        }
    }

    const_unless_loom! {
        /// Returns an unlocked lock whose counters start at `count`, for tests of the wrap-around.
        #[doc(hidden)]
        pub fn starting_at(count: u32) -> Self {
            RwLockFair {
                arrived: AtomicU32::new(count << 8),
                departed: AtomicU32::new(count << 8),
                next: AtomicU32::new(count),
                serving: AtomicU32::new(count),
                counts: C::ZERO,
                scope: PhantomData,
            }
        }
    }

    /// Acquires the lock for reading, and waits if a writer holds it or goes next.
    ///
    /// If 8,388,608 readers hold the lock, it also waits until one leaves.
    #[inline]
    pub fn lock_shared(&self) {
        let departed = self.departed.load(Acquire);
        let before = self.arrived.fetch_add(READER, Acquire);
        if before & WRITER != 0 {
            self.await_writer(before & WRITER_BITS);
        }
        if readers(before, departed) >= MOST_READERS {
            self.await_fewer_readers();
        }
    }

    /// Acquires the lock for reading if no writer holds it or goes next, and fewer than 8,388,608 readers hold it.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        let departed = self.departed.load(Acquire);
        let mut arrived = self.arrived.load(Relaxed);
        while arrived & WRITER == 0 && (readers(arrived, departed) < MOST_READERS || !self.is_full()) {
            match self.arrived.compare_exchange_weak(arrived, arrived.wrapping_add(READER), Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => arrived = now,
            }
        }
        false
    }

    /// Releases a shared acquisition.
    ///
    /// # Safety
    ///
    /// The caller holds the lock for reading, and gives up that acquisition.
    #[inline]
    pub unsafe fn unlock_shared(&self) {
        if self.departed.fetch_add(READER, Release) & ASLEEP != 0 {
            futex::wake::<S>(&self.departed, 1, futex::ALL);
        }
    }

    /// Acquires the lock for writing, and waits if it is held.
    #[inline]
    pub fn lock_exclusive(&self) {
        let ticket = self.next.fetch_add(1, SeqCst);
        between_seqcst();
        let waited = self.serving.load(SeqCst) != ticket;
        if waited {
            self.await_turn(ticket);
        }
        if self.arrived.load(Relaxed) & WRITER != 0 {
            self.await_leaving();
        }
        // Only the writer that goes next sets `WRITER`.
        let before = self.arrived.fetch_add(WRITER | (ticket & PHASE), AcqRel);
        if self.departed.load(Acquire) & !ASLEEP != before {
            self.await_readers(before, waited);
        }
    }

    /// Acquires the lock for writing if no thread holds it now.
    pub fn try_lock_exclusive(&self) -> bool {
        let ticket = self.serving.load(Acquire);
        let departed = self.departed.load(Acquire);
        // Cheap refusals come first, because a drawn ticket must be served.
        if self.arrived.load(Relaxed) != departed
            || self.next.compare_exchange(ticket, ticket.wrapping_add(1), SeqCst, Relaxed).is_err()
        {
            return false;
        }
        // `departed` never overtakes `arrived`: if `arrived` equals the value that `departed` had, all readers have
        // left.
        let taken =
            self.arrived.compare_exchange(departed, departed | WRITER | (ticket & PHASE), AcqRel, Relaxed).is_ok();
        let following = ticket.wrapping_add(1);
        if !taken && self.name(following) {
            futex::wake::<S>(&self.serving, u32::MAX, class(following));
        }
        taken
    }

    /// Releases the exclusive acquisition: admits the readers that arrived in the meantime, then lets the next writer
    /// go.
    ///
    /// # Safety
    ///
    /// The caller holds the lock for writing, and gives up that acquisition.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        // While a writer holds the lock, no reader departs, so every reader that has arrived and not left is waiting.
        // The count must be read before the readers are admitted. After that, a reader that arrives and leaves at
        // once would make the two counts equal while another reader is still blocked.
        let departed = self.departed.load(Relaxed) & !ASLEEP;
        let following = self.serving.load(Relaxed).wrapping_add(1);
        let is_awaited = self.name(following);
        let before = self.arrived.fetch_and(!(WRITER_BITS | NEXT_ASLEEP), Release);
        if before & !(WRITER_BITS | NEXT_ASLEEP) != departed || before & NEXT_ASLEEP != 0 {
            futex::wake::<S>(&self.arrived, u32::MAX, futex::ALL);
        }
        if is_awaited {
            futex::wake::<S>(&self.serving, u32::MAX, class(following));
        }
    }

    /// Returns whether a thread holds the lock or waits for it at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.arrived.load(Relaxed) != self.departed.load(Relaxed) & !ASLEEP
    }

    /// Returns whether a writer holds the lock or waits for readers to leave at this moment.
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        self.arrived.load(Relaxed) & WRITER != 0
    }

    /// Returns the counters of this lock.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    /// Lets the writer with this ticket go next; returns whether the ticket may have been drawn, so that a writer may
    /// wait.
    fn name(&self, ticket: u32) -> bool {
        self.serving.store(ticket, SeqCst);
        between_seqcst();
        self.next.load(SeqCst) != ticket
    }

    /// Declares that the memory may be reused: loom then reports any thread that still accesses it.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        for word in [&mut self.arrived, &mut self.departed, &mut self.next, &mut self.serving] {
            word.with_mut(|_| ());
        }
    }
}

raw_rwlock!([S: Scope, C: Count] RwLockFair<S, C>);

// Blocking: each kind of waiter blocks on the word that reports its event.

impl<S: Scope, C: Count> RwLockFair<S, C> {
    /// Blocks until the writer that this reader found has left.
    #[cold]
    fn await_writer(&self, writer: u32) {
        self.counts.read_contended();
        loop {
            let now = self.arrived.load(Acquire);
            if now & WRITER_BITS != writer {
                return;
            }
            self.counts.slept();
            futex::wait::<S>(&self.arrived, now, futex::ALL, None);
        }
    }

    /// Returns whether the largest number of readers is present.
    ///
    /// `departed` is read first. A reader that arrives and leaves between the two reads only increases the result,
    /// which the next attempt corrects.
    #[cold]
    fn is_full(&self) -> bool {
        (0..4).all(|_| {
            let departed = self.departed.load(Acquire);
            readers(self.arrived.load(Relaxed), departed) >= MOST_READERS
        })
    }

    /// Waits until fewer readers are present.
    ///
    /// The caller is counted already. That is harmless, because there are fewer threads than the counts still have
    /// room for.
    #[cold]
    fn await_fewer_readers(&self) {
        while self.is_full() {
            futex::nap(None);
        }
    }

    #[cold]
    fn await_turn(&self, ticket: u32) {
        self.counts.write_contended();
        loop {
            let now = self.serving.load(SeqCst);
            if now == ticket {
                return;
            }
            self.counts.slept();
            futex::wait::<S>(&self.serving, now, class(ticket), None);
        }
    }

    /// Blocks until the number of readers that have left equals the number that had arrived.
    #[cold]
    fn await_readers(&self, arrived_before: u32, counted: bool) {
        if !counted {
            self.counts.write_contended();
        }
        loop {
            let now = self.departed.fetch_or(ASLEEP, Acquire) | ASLEEP;
            if now & !ASLEEP == arrived_before {
                self.departed.fetch_and(!ASLEEP, Relaxed);
                return;
            }
            self.counts.slept();
            futex::wait::<S>(&self.departed, now, futex::ALL, None);
        }
    }

    /// Blocks until the writer that let this one go next has left too, which it is about to do.
    #[cold]
    fn await_leaving(&self) {
        loop {
            let now = self.arrived.load(Relaxed);
            if now & WRITER == 0 {
                return;
            }
            let marked = now | NEXT_ASLEEP;
            if now == marked || self.arrived.compare_exchange(now, marked, Relaxed, Relaxed).is_ok() {
                self.counts.slept();
                futex::wait::<S>(&self.arrived, marked, futex::ALL, None);
            }
        }
    }
}
