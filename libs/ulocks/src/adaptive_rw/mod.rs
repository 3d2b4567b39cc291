//! A readers' lock that spins while that pays, sleeps otherwise, and lets neither side keep the other out.
//!
//! # State
//! | `word` bit | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 31 | `WRITER` | a writer holds | that writer | that writer |
//! | 30 | `WRITERS` | a writer may sleep; readers that come now wait | a writer about to sleep, or that slept | whoever wakes one |
//! | 29 | `READERS` | a reader may sleep | a reader about to sleep | the writer that wakes them all |
//! | 28 | `RESERVED` | only who has slept may take the lock | one that has, while it is awake; a writer keeps it | that one |
//! | 0..28 | | readers that hold | readers | readers |
//!
//! All sleep on the word, readers in one of its queues and writers in another.
//!
//! # Ordering
//! Taking is `Acquire`, freeing is `Release`, all by read-modify-writes of one word: there is no fence.
//!
//! No wake-up is lost. A reader sleeps only while a writer holds, or readers hold and `WRITERS` is set; a writer only
//! while somebody holds; both set their mark in the word that they compare. The last reader that leaves takes `WRITERS`
//! away and wakes a writer; a writer that leaves wakes all readers, or, if there are none, does the same. A reader
//! subtracts itself without a loop if it saw no mark. If the mark came in between, the reader wakes a writer too, and the
//! mark stays on the free lock. If that writer has just given up, readers that come take it for void after 0.2 ms. A woken
//! writer takes the lock with `WRITERS`, since others may sleep. If nobody was there to be woken (it timed out), who
//! wakes wakes the other side. Whoever was woken and gives up sets `WRITERS` again, or, if the lock is free, wakes in
//! turn.
//!
//! # Lifetime
//! The read-modify-write that frees is the last access of an unlock: the memory may be freed by whoever holds the lock
//! last. After it the kernel gets an address to wake, at most.
//!
//! # Fork
//! A forked child may use one that its thread held or nobody did, whoever waited: their marks cost a wake that finds
//! nobody, their reservation is void after some 0.2 ms.
//!
//! # Fairness
//! Bounded. Readers that come while a writer sleeps wait behind it. When it leaves, all readers that slept go first,
//! also past the next writer's mark, but each of them once. Who was woken and finds the lock taken again reserves it:
//! then only others that have slept can take it; a writer's reservation lasts until it has had its turn. So a reader
//! that takes the lock twice can deadlock with a writer that comes between, unless it says so:
//! [`lock_shared_recursive`](AdaptiveRw::lock_shared_recursive) goes past writers that wait.
//!
//! # A stopped or dead holder
//! Blocks everybody else (a reader: the writers, and the readers behind them). A stopped or dead waiter does not: what
//! is reserved is void when the lock has been free for some 0.2 ms, or after some 0.5 ms among readers. In
//! [`Shared`](crate::Shared) scope a sleeper looks for itself every 100 ms.
//!
//! # Source
//! One word for both sides: `rwlock` of Hubertus Franke's ulocks, 2002. Turns for those that have waited: phase-fair
//! locks (Brandenburg and Anderson, ECRTS 2009), and this crate's [`Adaptive`](crate::Adaptive). Readers share the
//! word's cache line: locks with a line for each reader (BRAVO: Dice and Kogan, USENIX ATC 2019) scale further on many
//! CPUs, and cost their writers a walk.

mod waiting;
mod word;

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    count::{Count, NoCount},
    futex::{self, Deadline, Private, Scope},
};
use core::marker::PhantomData;
use word::{Again, COUNT, Claim, READERS, READING, RESERVED, Reading, Side, WRITER, WRITERS, WRITING, Writing};

/// The adaptive readers' lock. 4 bytes.
///
/// Neither side starves the other. Readers of several CPUs share one cache line. `try_lock_shared` and
/// `try_lock_exclusive` can fail on a free lock that is reserved for a waiter. The [crate's documentation](crate) says how
/// it behaves across fork, dlclose and signals.
///
/// ```
/// use ulocks::{AdaptiveRw, lock_api::RwLock};
///
/// static NAMES: RwLock<AdaptiveRw, Vec<&str>> = RwLock::new(Vec::new());
/// NAMES.write().push("Hoare");
/// assert_eq!(NAMES.read().len(), 1);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct AdaptiveRw<S: Scope = Private, C: Count = NoCount> {
    word: AtomicU32,
    counts: C,
    scope: PhantomData<S>,
}

const _: () = assert!(cfg!(loom) || size_of::<AdaptiveRw>() == 4);

impl<S: Scope, C: Count> AdaptiveRw<S, C> {
    const_unless_loom! {
        /// A free lock.
        pub fn new() -> Self {
            AdaptiveRw { word: AtomicU32::new(0), counts: C::ZERO, scope: PhantomData }
        }
    }

    /// Takes the lock for reading. Where as many readers hold it as can be counted, it waits for one to leave.
    #[inline]
    pub fn lock_shared(&self) {
        if !self.take_as::<Reading>() {
            self.lock_shared_by(None);
        }
    }

    /// Takes the lock for reading if no writer holds it or waits for it, and fewer readers hold it than can be counted:
    /// 268,435,455.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        self.try_as::<Reading>()
    }

    /// Takes the lock for reading, past writers that wait: for who has it for reading already, or answers for somebody
    /// who has. Whoever takes it always so keeps writers out.
    #[inline]
    pub fn lock_shared_recursive(&self) {
        if !self.take_as::<Again>() {
            self.lock_shared_recursive_by(None);
        }
    }

    /// As [`lock_shared_recursive`](Self::lock_shared_recursive), if no writer holds the lock.
    #[inline]
    pub fn try_lock_shared_recursive(&self) -> bool {
        self.try_as::<Again>()
    }

    /// Ends reading. The last reader wakes a writer.
    ///
    /// # Safety
    /// The caller gives up a shared acquisition.
    #[inline]
    pub unsafe fn unlock_shared(&self) {
        if self.word.load(Relaxed) & WRITERS != 0 {
            return self.leave_to_a_writer();
        }
        let before = self.word.fetch_sub(1, Release);
        if word::left_by_reader(before).1 {
            // The mark came after the look. It stays, since the lock may be gone by now: the writer clears it.
            wake_writer::<S>(&self.word, before & READERS != 0);
        }
    }

    /// Ends reading where a writer may sleep: the last reader takes its mark away in the step that releases the lock.
    #[cold]
    fn leave_to_a_writer(&self) {
        let mut word = self.word.load(Relaxed);
        loop {
            let (left, wakes) = word::left_by_reader(word);
            match self.word.compare_exchange_weak(word, left, Release, Relaxed) {
                Ok(_) => {
                    if wakes {
                        wake_writer::<S>(&self.word, left & READERS != 0);
                    }
                    return;
                }
                Err(now) => word = now,
            }
        }
    }

    /// Takes the lock for writing.
    #[inline]
    pub fn lock_exclusive(&self) {
        if self.word.compare_exchange(0, WRITER, Acquire, Relaxed).is_err() {
            self.lock_exclusive_by(None);
        }
    }

    /// Takes the lock for writing if nobody holds it now, and it is not kept for one that has waited.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        self.try_as::<Writing>()
    }

    #[inline]
    fn try_as<W: Side>(&self) -> bool {
        self.take_as::<W>() || word::is_free(self.word.load(Relaxed)) && self.try_again::<W>()
    }

    /// Takes the lock if nobody is in the way, and leaves alone what is kept for somebody.
    #[inline]
    fn take_as<W: Side>(&self) -> bool {
        let mut word = self.word.load(Relaxed);
        while let Some(taken) = W::taken(word, Claim::NONE) {
            match self.word.compare_exchange_weak(word, taken, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// A free lock that is kept for somebody is left to that one, but only once: the one may not exist any more. A
    /// writer that sleeps although the lock is free is woken; if there is none, its mark means nobody.
    #[cold]
    fn try_again<W: Side>(&self) -> bool {
        let word = self.word.load(Relaxed);
        let bare = word & !(RESERVED | WRITERS);
        if !word::is_free(word) || self.word.compare_exchange(word, bare, Relaxed, Relaxed).is_err() {
            return false;
        }
        let comes = word & WRITERS != 0 && wake_writer::<S>(&self.word, word & READERS != 0);
        let taken = W::taken(bare, Claim::NONE).filter(|_| !comes && word & RESERVED == 0);
        taken.is_some_and(|taken| self.word.compare_exchange(bare, taken, Acquire, Relaxed).is_ok())
    }

    /// Ends writing. Wakes the readers that sleep, or, if there are none, a writer.
    ///
    /// # Safety
    /// The caller gives up the exclusive acquisition.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        if self.word.compare_exchange(WRITER, 0, Release, Relaxed).is_err() {
            unlock_and_wake::<S>(&self.word);
        }
    }

    /// Whether anybody holds the lock, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & (WRITER | COUNT) != 0
    }

    /// Whether a writer holds the lock, at this moment.
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        self.word.load(Relaxed) & WRITER != 0
    }

    /// What happened on this lock, if it counts.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    /// The memory is somebody else's from now on: loom reports whoever touches it still.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        self.word.with_mut(|_| ());
    }

    #[cold]
    fn lock_shared_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.read_contended();
        waiting::wait::<S, Reading>(&self.word, &self.counts, deadline)
    }

    #[cold]
    fn lock_shared_recursive_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.read_contended();
        waiting::wait::<S, Again>(&self.word, &self.counts, deadline)
    }

    #[cold]
    fn lock_exclusive_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.write_contended();
        waiting::wait::<S, Writing>(&self.word, &self.counts, deadline)
    }
}

#[cold]
fn unlock_and_wake<S: Scope>(lock: &AtomicU32) {
    let mut word = lock.load(Relaxed);
    while let Err(now) = lock.compare_exchange_weak(word, word::left_by_writer(word), Release, Relaxed) {
        word = now;
    }
    let readers = word & READERS != 0 && futex::wake::<S>(lock, u32::MAX, READING) > 0;
    if !readers && word & WRITERS != 0 {
        futex::wake::<S>(lock, 1, WRITING);
    }
}

/// Wakes a writer; if none sleeps any more, the readers that waited behind it. Whether a writer comes.
#[cold]
fn wake_writer<S: Scope>(lock: &AtomicU32, or_readers: bool) -> bool {
    let comes = futex::wake::<S>(lock, 1, WRITING) > 0;
    if !comes && or_readers {
        futex::wake::<S>(lock, u32::MAX, READING);
    }
    comes
}

raw_rwlock!([S: Scope, C: Count] AdaptiveRw<S, C>);
raw_rwlock_timed!([S: Scope, C: Count] AdaptiveRw<S, C>);
raw_rwlock_recursive!([S: Scope, C: Count] AdaptiveRw<S, C>);
