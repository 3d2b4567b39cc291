//! The phase-fair lock: readers and writers alternate, so neither can keep the other out.
//!
//! # State
//! | word | bits | meaning |
//! |---|---|---|
//! | `arrived` | 8..32 | readers that have come |
//! | | 2 | `NEXT_ASLEEP`: the next writer sleeps until that one has left |
//! | | 1 | `WRITER`: a writer holds, or waits only for the readers before it |
//! | | 0 | the phase: changes with each writer, so that a reader knows *its* writer has gone |
//! | `departed` | 8..32 | readers that have gone |
//! | | 0 | `ASLEEP`: that writer sleeps until they have |
//! | `next` | | the ticket that the next writer draws |
//! | `serving` | | the ticket of the writer whose turn it is |
//!
//! At most 2^23 readers are let in: the counts wrap around at 2^24, and when they meet, a writer believes that all have
//! gone.
//!
//! Sleeping readers wait on `arrived`, the first writer on `departed`, the other writers on `serving`, there each in
//! one of 32 queues by its ticket: 34 queues, where 2002 had two. A writer that leaves names the next first, and frees
//! `arrived` last; the next one, which must find `arrived` free, may have to sleep on that for a moment too.
//!
//! # Ordering
//! A reader takes by an `Acquire` add to `arrived`, which reads what the last writer's `Release` and left there. A
//! writer takes by an `Acquire` read of `departed`, which reads the last reader's `Release` add. Writers are ordered
//! by `serving`. Sleeping takes no fence for readers (they sleep on the word that the writer changes to let them in);
//! the writer's `ASLEEP` is a change of `departed` itself, in one order with the readers' adds. A writer that hands
//! over reads `next` to know whether to wake, while an arrival draws from `next` and then reads `serving`: two words,
//! so these four accesses are `SeqCst`, and one of the two sees the other.
//!
//! # Lifetime
//! The read-modify-write of `departed` with which a reader leaves, or of `arrived` with which a writer does, is its
//! last access: the memory may be freed by the thread that holds the lock last. After it the kernel gets addresses to wake, at
//! most.
//!
//! # Fork
//! A forked child may use one that its thread held or no thread did, if no other thread waited: a thread that did not come
//! along is counted among the readers, or has a ticket.
//!
//! # Fairness
//! Writers among themselves: first come, first served. A reader waits for one writer at most, a writer for the
//! readers that came before it. The price is a turn that is kept for a thread that must first be woken. No thread can
//! time out, since a writer's ticket cannot be handed back. A reader that takes the lock twice can deadlock with a
//! writer that comes between.
//!
//! # A stopped or dead holder
//! Blocks all other threads, and so does a stopped or dead waiting writer when its turn comes.
//!
//! # Source
//! Björn Brandenburg and James Anderson, "Reader-Writer Synchronization for Shared-Memory Multiprocessor Real-Time
//! Systems", ECRTS 2009: the phase-fair ticket lock PF-T. Sleeping is added here.

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

/// The phase-fair readers' lock. 16 bytes.
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

/// Half of what the counts can tell apart, since a thread counts itself before it knows how many there are: 2^22, the
/// most threads that Linux has, come on top, and the two counts must not meet.
const MOST_READERS: u32 = 1 << 23;

/// How many readers have come and not gone.
fn readers(arrived: u32, departed: u32) -> u32 {
    (arrived >> 8).wrapping_sub(departed >> 8) & (u32::MAX >> 8)
}

/// The queue in which this ticket waits for its turn.
fn class(ticket: u32) -> u32 {
    1 << (ticket % 32)
}

impl<S: Scope, C: Count> RwLockFair<S, C> {
    const_unless_loom! {
        /// A free lock.
        pub fn new() -> Self {
            Self::starting_at(0)
        }
    }

    const_unless_loom! {
        /// A free lock whose counters have come far: for tests of the wrap-around.
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

    /// Takes the lock for reading. Where 8,388,608 readers hold it, it waits for one to leave.
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

    /// Takes the lock for reading if no writer holds it or waits to hold it next, and fewer than 8,388,608 readers do.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        let departed = self.departed.load(Acquire);
        let mut arrived = self.arrived.load(Relaxed);
        while arrived & WRITER == 0 && (readers(arrived, departed) < MOST_READERS || !self.is_crowded()) {
            match self.arrived.compare_exchange_weak(arrived, arrived.wrapping_add(READER), Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => arrived = now,
            }
        }
        false
    }

    /// Ends reading.
    ///
    /// # Safety
    /// The caller gives up a shared acquisition.
    #[inline]
    pub unsafe fn unlock_shared(&self) {
        if self.departed.fetch_add(READER, Release) & ASLEEP != 0 {
            futex::wake::<S>(&self.departed, 1, futex::ALL);
        }
    }

    /// Takes the lock for writing.
    #[inline]
    pub fn lock_exclusive(&self) {
        let mine = self.next.fetch_add(1, SeqCst);
        between_seqcst();
        let waited = self.serving.load(SeqCst) != mine;
        if waited {
            self.await_turn(mine);
        }
        if self.arrived.load(Relaxed) & WRITER != 0 {
            self.await_leaving();
        }
        // Only the writer whose turn it is sets `WRITER`.
        let before = self.arrived.fetch_add(WRITER | (mine & PHASE), AcqRel);
        if self.departed.load(Acquire) & !ASLEEP != before {
            self.await_readers(before, waited);
        }
    }

    /// Takes the lock for writing if no thread holds it now.
    pub fn try_lock_exclusive(&self) -> bool {
        let mine = self.serving.load(Acquire);
        let departed = self.departed.load(Acquire);
        // Cheap refusals first: a ticket that is drawn must be served.
        if self.arrived.load(Relaxed) != departed
            || self.next.compare_exchange(mine, mine.wrapping_add(1), SeqCst, Relaxed).is_err()
        {
            return false;
        }
        // `departed` never passes `arrived`: if `arrived` is what `departed` was, all readers have gone.
        let taken =
            self.arrived.compare_exchange(departed, departed | WRITER | (mine & PHASE), AcqRel, Relaxed).is_ok();
        let following = mine.wrapping_add(1);
        if !taken && self.name(following) {
            futex::wake::<S>(&self.serving, u32::MAX, class(following));
        }
        taken
    }

    /// Ends writing: the readers that came in the meantime are let in, then the next writer gets its turn.
    ///
    /// # Safety
    /// The caller gives up the exclusive acquisition.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        // While a writer holds, no reader departs, so every reader that has come and not gone waits. Read before letting them in: after
        // it, a reader that comes and goes at once would make the two counts agree while another still sleeps.
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

    /// Whether a thread holds the lock or waits for it, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.arrived.load(Relaxed) != self.departed.load(Relaxed) & !ASLEEP
    }

    /// Whether a writer holds the lock or waits for readers to leave, at this moment.
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        self.arrived.load(Relaxed) & WRITER != 0
    }

    /// What happened on this lock, if it counts.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    /// Names the ticket whose turn it is; says whether it may have been drawn, and be waited for.
    fn name(&self, ticket: u32) -> bool {
        self.serving.store(ticket, SeqCst);
        between_seqcst();
        self.next.load(SeqCst) != ticket
    }

    /// The memory may be reused from now on: loom reports any thread that still touches it.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        for word in [&mut self.arrived, &mut self.departed, &mut self.next, &mut self.serving] {
            word.with_mut(|_| ());
        }
    }
}

raw_rwlock!([S: Scope, C: Count] RwLockFair<S, C>);

// Sleeping: each kind of waiter sleeps on the word that reports its event.

impl<S: Scope, C: Count> RwLockFair<S, C> {
    /// Sleeps until the writer that this reader found has gone.
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

    /// Whether as many readers are here as may be. Those that have gone are read first: a reader that comes and goes between
    /// the two reads only makes the number larger, which the next try corrects.
    #[cold]
    fn is_crowded(&self) -> bool {
        (0..4).all(|_| {
            let departed = self.departed.load(Acquire);
            readers(self.arrived.load(Relaxed), departed) >= MOST_READERS
        })
    }

    /// Sleeps until fewer readers are here. The caller is counted already, which does no harm: there are fewer threads
    /// than the counts still have room for.
    #[cold]
    fn await_fewer_readers(&self) {
        while self.is_crowded() {
            futex::nap(None);
        }
    }

    #[cold]
    fn await_turn(&self, mine: u32) {
        self.counts.write_contended();
        loop {
            let now = self.serving.load(SeqCst);
            if now == mine {
                return;
            }
            self.counts.slept();
            futex::wait::<S>(&self.serving, now, class(mine), None);
        }
    }

    /// Sleeps until as many readers have gone as had come.
    #[cold]
    fn await_readers(&self, come: u32, counted: bool) {
        if !counted {
            self.counts.write_contended();
        }
        loop {
            let now = self.departed.fetch_or(ASLEEP, Acquire) | ASLEEP;
            if now & !ASLEEP == come {
                self.departed.fetch_and(!ASLEEP, Relaxed);
                return;
            }
            self.counts.slept();
            futex::wait::<S>(&self.departed, now, futex::ALL, None);
        }
    }

    /// Sleeps until the writer that has named this one has left too: it is about to.
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
