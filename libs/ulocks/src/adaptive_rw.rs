//! A readers' lock that spins while that pays, sleeps otherwise, and lets neither side keep the other out.
//!
//! # State
//! | `word` bit | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 31 | `WRITER` | a writer holds | that writer | that writer |
//! | 30 | `WRITERS` | a writer may sleep; readers that come now wait | a writer about to sleep, or that slept | the thread that wakes one |
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
//! while a thread holds; both set their mark in the word that they compare. The last reader that leaves takes `WRITERS`
//! away and wakes a writer; a writer that leaves wakes all readers, or, if there are none, does the same. A reader
//! subtracts itself without a loop if it saw no mark. If the mark came in between, the reader wakes a writer too, and the
//! mark stays on the free lock. If that writer has just given up, readers that come take it for void after 0.2 ms. A woken
//! writer takes the lock with `WRITERS`, since others may sleep. If no thread was there to be woken (it timed out), the
//! waker wakes the other side. A thread that was woken and gives up sets `WRITERS` again, or, if the lock is free, wakes in
//! turn.
//!
//! # Lifetime
//! The read-modify-write that frees is the last access of an unlock: the memory may be freed by the thread that holds
//! the lock last. After it the kernel gets an address to wake, at most.
//!
//! # Fork
//! A forked child may use one that its thread held or no thread did, whichever threads waited: their marks cost a wake
//! that finds no waiter, their reservation is void after some 0.2 ms.
//!
//! # Fairness
//! Bounded. Readers that come while a writer sleeps wait behind it. When it leaves, all readers that slept go first,
//! also past the next writer's mark, but each of them once. A thread that was woken and finds the lock taken again reserves it:
//! then only others that have slept can take it; a writer's reservation lasts until it has had its turn. So a reader
//! that takes the lock twice can deadlock with a writer that comes between, unless it says so:
//! [`lock_shared_recursive`](AdaptiveRw::lock_shared_recursive) goes past writers that wait.
//!
//! # A stopped or dead holder
//! Blocks all other threads (a reader: the writers, and the readers behind them). A stopped or dead waiter does not: what
//! is reserved is void when the lock has been free for some 0.2 ms, or after some 0.5 ms among readers. In
//! [`Shared`](crate::Shared) scope a sleeper looks for itself every 100 ms.
//!
//! # Source
//! One word for both sides: `rwlock` of Hubertus Franke's ulocks, 2002. Turns for those that have waited: phase-fair
//! locks (Brandenburg and Anderson, ECRTS 2009), and this crate's [`Adaptive`](crate::Adaptive). Readers share the
//! word's cache line: locks with a line for each reader (BRAVO: Dice and Kogan, USENIX ATC 2019) scale further on many
//! CPUs, and cost their writers a walk.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
        pause,
    },
    count::{Count, NoCount},
    futex::{self, Deadline, Private, Scope, Wait},
};
use core::{marker::PhantomData, time::Duration};

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

    /// Takes the lock for reading, past writers that wait: for a thread that has it for reading already, or acts for
    /// one that has. Readers that always do so keep writers out.
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
        if left_by_reader(before).1 {
            // The mark came after the look. It stays, since the lock may be gone by now: the writer clears it.
            wake_writer::<S>(&self.word, before & READERS != 0);
        }
    }

    /// Ends reading where a writer may sleep: the last reader takes its mark away in the step that releases the lock.
    #[cold]
    fn leave_to_a_writer(&self) {
        let mut word = self.word.load(Relaxed);
        loop {
            let (left, wakes) = left_by_reader(word);
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

    /// Takes the lock for writing if no thread holds it now, and it is not kept for one that has waited.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        self.try_as::<Writing>()
    }

    #[inline]
    fn try_as<W: Side>(&self) -> bool {
        self.take_as::<W>() || is_free(self.word.load(Relaxed)) && self.try_again::<W>()
    }

    /// Takes the lock if no thread is in the way, and respects a reservation.
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

    /// A reserved free lock is left to its waiter, but only once: the waiter may not exist any more. A
    /// writer that sleeps although the lock is free is woken; if there is none, its mark means no thread.
    #[cold]
    fn try_again<W: Side>(&self) -> bool {
        let word = self.word.load(Relaxed);
        let bare = word & !(RESERVED | WRITERS);
        if !is_free(word) || self.word.compare_exchange(word, bare, Relaxed, Relaxed).is_err() {
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

    /// Whether a thread holds the lock, at this moment.
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

    /// The memory may be reused from now on: loom reports any thread that still touches it.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        self.word.with_mut(|_| ());
    }

    #[cold]
    fn lock_shared_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.read_contended();
        wait::<S, Reading>(&self.word, &self.counts, deadline)
    }

    #[cold]
    fn lock_shared_recursive_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.read_contended();
        wait::<S, Again>(&self.word, &self.counts, deadline)
    }

    #[cold]
    fn lock_exclusive_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.write_contended();
        wait::<S, Writing>(&self.word, &self.counts, deadline)
    }
}

#[cold]
fn unlock_and_wake<S: Scope>(lock: &AtomicU32) {
    let mut word = lock.load(Relaxed);
    while let Err(now) = lock.compare_exchange_weak(word, left_by_writer(word), Release, Relaxed) {
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

// The word of an adaptive readers' lock: what its bits are, and how each side may change them. No step is taken here.

const WRITER: u32 = 1 << 31;
const WRITERS: u32 = 1 << 30;
const READERS: u32 = 1 << 29;
const RESERVED: u32 = 1 << 28;
const COUNT: u32 = RESERVED - 1;

/// The queues of the word.
const READING: u32 = 1;
const WRITING: u32 = 2;

/// What a thread that asks may disregard.
#[derive(Clone, Copy, Debug)]
struct Claim {
    /// It has slept: it has waited for its turn.
    slept: bool,
    /// The reservation is its own.
    reserved: bool,
    /// Those who have a claim before it don't come.
    void: bool,
}

impl Claim {
    /// The claim of a waiter that has just come.
    const NONE: Claim = Claim { slept: false, reserved: false, void: false };

    /// The word without a reservation that has served its purpose.
    fn used(self, word: u32) -> u32 {
        if self.reserved || self.void { word & !RESERVED } else { word }
    }
}

/// One of the two ways to hold the lock.
trait Side {
    /// Says that one of this side may sleep.
    const MARK: u32;
    /// Where it sleeps.
    const QUEUE: u32;

    /// The word as one with this claim takes it, if it may.
    fn taken(word: u32, claim: Claim) -> Option<u32>;
    /// Whether a holder will wake one of this side.
    fn must_wait(word: u32) -> bool;
}

struct Reading;
/// Reading past writers that wait.
struct Again;
struct Writing;

impl Side for Reading {
    const MARK: u32 = READERS;
    const QUEUE: u32 = READING;

    fn taken(word: u32, claim: Claim) -> Option<u32> {
        // While readers hold the lock, the last of them wakes the writer that the mark is of, however long this thread
        // was without a CPU in the meantime. On a free lock, the mark may be of a writer that gave up.
        let yields_to_writers = word & WRITERS != 0 && !(claim.void && is_free(word));
        let is_reserved = word & RESERVED != 0 && !claim.void;
        let is_barred = (yields_to_writers || is_reserved) && !claim.slept;
        (word & WRITER == 0 && word & COUNT != COUNT && !is_barred).then(|| claim.used(word) + 1)
    }

    /// A reservation alone is not slept on: no thread would report its end.
    fn must_wait(word: u32) -> bool {
        word & WRITER != 0 || (word & COUNT != 0 && word & WRITERS != 0)
    }
}

impl Side for Again {
    const MARK: u32 = READERS;
    const QUEUE: u32 = READING;

    fn taken(word: u32, claim: Claim) -> Option<u32> {
        (word & WRITER == 0 && word & COUNT != COUNT).then(|| claim.used(word) + 1)
    }

    fn must_wait(word: u32) -> bool {
        word & WRITER != 0
    }
}

impl Side for Writing {
    const MARK: u32 = WRITERS;
    const QUEUE: u32 = WRITING;

    fn taken(word: u32, claim: Claim) -> Option<u32> {
        let is_barred = word & RESERVED != 0 && !claim.slept && !claim.void;
        // The waker has taken the mark away, and others may sleep.
        let mark = if claim.slept { WRITERS } else { 0 };
        (word & (WRITER | COUNT) == 0 && !is_barred).then(|| claim.used(word) | WRITER | mark)
    }

    fn must_wait(word: u32) -> bool {
        word & (WRITER | COUNT) != 0
    }
}

fn is_free(word: u32) -> bool {
    word & (WRITER | COUNT) == 0
}

/// The word as a reader leaves, and whether a writer is to be woken.
fn left_by_reader(word: u32) -> (u32, bool) {
    let left = word.wrapping_sub(1);
    let wakes = is_free(left) && left & WRITERS != 0;
    (if wakes { left & !WRITERS } else { left }, wakes)
}

/// The word as a writer leaves. `WRITERS` stays while readers go first: the last of them looks at it.
fn left_by_writer(word: u32) -> u32 {
    let left = word & !(WRITER | READERS);
    if word & READERS != 0 { left } else { left & !WRITERS }
}

// Waiting for either side: spin, sleep, look again.

/// Between processes a wake may be lost with the process that it woke.
const SHARED_SLEEP: Duration = Duration::from_millis(100);

/// A thread that waits.
struct Waiter<'a, W> {
    word: &'a AtomicU32,
    claim: Claim,
    side: PhantomData<W>,
}

/// Takes the lock, or gives up at the deadline; says which.
#[cold]
fn wait<S: Scope, W: Side>(word: &AtomicU32, counts: &impl Count, deadline: Option<Deadline>) -> bool {
    let mut waiter = Waiter::<W> { word, claim: Claim::NONE, side: PhantomData };
    if waiter.spin() {
        counts.spun();
        return true;
    }
    let nap = (!S::PRIVATE).then_some(SHARED_SLEEP);
    loop {
        let ended = match waiter.mark() {
            Marked::Taken => return true,
            // As many readers as can be counted: none that leaves will say so.
            Marked::Full if futex::nap(deadline) => Wait::TimedOut,
            Marked::Full => Wait::Changed,
            Marked::At(expected) => {
                counts.slept();
                futex::wait::<S>(word, expected, W::QUEUE, futex::sooner(deadline, nap))
            }
        };
        // A reader that looks for itself has not had its turn: it is one of those that a waiting writer goes before.
        // Neither has one that a signal handler interrupted.
        waiter.claim.slept |= if W::MARK == READERS { ended == Wait::Woken } else { ended != Wait::Changed };
        // The handler of a signal may have run past the deadline, and the lock be free by now: POSIX asks for another look.
        let looks_again = matches!(ended, Wait::Woken | Wait::Interrupted);
        if !looks_again && deadline.is_some_and(|deadline| deadline.passed()) {
            waiter.give_up::<S>();
            return false;
        }
        if waiter.spin() {
            return true;
        }
    }
}

/// What a thread that wants to sleep found.
enum Marked {
    /// The lock is its own.
    Taken,
    /// It can sleep while the word is this.
    At(u32),
    /// There is no room, and no thread will wake it.
    Full,
}

impl<W: Side> Waiter<'_, W> {
    fn take(&self, word: u32, void: bool) -> bool {
        W::taken(word, Claim { void, ..self.claim })
            .is_some_and(|taken| self.word.compare_exchange(word, taken, Acquire, Relaxed).is_ok())
    }

    /// Reserves the lock for this thread, which has slept, so that no thread that has not slept gets it first.
    fn reserve(&mut self, word: u32) {
        self.claim.reserved |=
            word & RESERVED == 0 && self.word.compare_exchange(word, word | RESERVED, Relaxed, Relaxed).is_ok();
    }

    /// Sees to it that it will be woken, if there is a holder. A lock without one is not slept on, whichever thread it is kept
    /// for.
    fn mark(&mut self) -> Marked {
        loop {
            let word = self.word.load(Relaxed);
            if !W::must_wait(word) {
                if self.take(word, true) {
                    return Marked::Taken;
                }
                if word & (WRITER | COUNT) == COUNT {
                    return Marked::Full;
                }
                continue;
            }
            // A writer that was woken and found the lock taken keeps its reservation while it sleeps, or the reader
            // that leaves last, and comes again at once, would have the lock each time before it is awake.
            let keeps = W::MARK == WRITERS;
            let marked = if keeps { word } else { self.without_reservation(word) } | W::MARK;
            if word == marked || self.word.compare_exchange(word, marked, Relaxed, Relaxed).is_ok() {
                self.claim.reserved &= keeps;
                return Marked::At(marked);
            }
        }
    }

    fn without_reservation(&self, word: u32) -> u32 {
        if self.claim.reserved { word & !RESERVED } else { word }
    }

    /// Leaves without the lock. Others may have relied on this thread: the holder learns of them, or, if there is
    /// none, one is woken now.
    fn give_up<S: Scope>(&self) {
        loop {
            let word = self.word.load(Relaxed);
            let mark = if self.claim.slept && !is_free(word) { W::MARK & WRITERS } else { 0 };
            let left = self.without_reservation(word) | mark;
            if self.word.compare_exchange(word, left, Relaxed, Relaxed).is_err() {
                continue;
            }
            if is_free(left) && futex::wake::<S>(self.word, 1, WRITING) == 0 && left & READERS != 0 {
                futex::wake::<S>(self.word, u32::MAX, READING);
            }
            return;
        }
    }
}

#[cfg(not(loom))]
mod patience {
    use super::*;
    use crate::{atomic::give_way, cpu::coarse_now};

    /// How long a spin lasts, how long one with a reservation does, and after how long a reservation is void: in units
    /// of about 10 µs.
    const PATIENCE: u32 = 3;
    /// For so long a free lock is left to whom it is reserved for: longer than it takes to wake on another CPU.
    const PATIENCE_FREE: u32 = 20;
    const PATIENCE_RESERVED: u32 = 20;
    const VOID: u32 = 2 * PATIENCE_RESERVED;
    /// Rounds of a spin, of some 100 ns each, where others sleep: the queue is long.
    const ROUNDS: u32 = 12;
    const PAUSES: u32 = 4;

    impl<W: Side> Waiter<'_, W> {
        /// Spins while it can pay; says whether it took the lock.
        pub(super) fn spin(&mut self) -> bool {
            let start = coarse_now();
            let patience = if self.claim.slept { PATIENCE_RESERVED } else { PATIENCE };
            let (mut free_since, mut rounds) = (None, 0);
            loop {
                let word = self.word.load(Relaxed);
                let age = coarse_now().wrapping_sub(start);
                self.claim.reserved &= word & RESERVED != 0;
                let void = age > VOID || free_since.is_some_and(|since: u32| age.wrapping_sub(since) > PATIENCE_FREE);
                if self.take(word, void) {
                    return true;
                }
                rounds += 1;
                if is_free(word) {
                    // Kept for a thread that is not running, or it would have taken it: perhaps this CPU is its.
                    free_since = free_since.or(Some(age));
                    give_way();
                    continue;
                }
                free_since = None;
                if self.claim.slept && !self.claim.reserved {
                    self.reserve(word);
                }
                let is_crowded = !self.claim.slept && word & (WRITERS | READERS) != 0 && rounds > ROUNDS;
                if age > VOID || (W::must_wait(word) && (age >= patience || is_crowded)) {
                    return false;
                }
                // A look at a word that others change takes it away from them.
                (0..PAUSES.max(rounds.min(64))).for_each(|_| pause());
            }
        }
    }
}

/// In a model the length of a spin proves nothing: one try, and for one that has slept another with a reservation.
#[cfg(loom)]
impl<W: Side> Waiter<'_, W> {
    fn spin(&mut self) -> bool {
        let word = self.word.load(Relaxed);
        self.claim.reserved &= word & RESERVED != 0;
        if self.take(word, false) {
            return true;
        }
        if self.claim.slept && !is_free(word) {
            self.reserve(word);
        }
        pause();
        let word = self.word.load(Relaxed);
        self.claim.reserved &= word & RESERVED != 0;
        self.take(word, false)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A reader that had no CPU for half a millisecond while it looked at the word passed a waiting writer.
    #[test]
    fn a_late_reader_does_not_pass_a_writer_that_waits_for_readers() {
        let late = Claim { void: true, ..Claim::NONE };
        assert_eq!(Reading::taken(WRITERS | 1, late), None);
        assert_eq!(Reading::taken(WRITERS, late), Some(WRITERS | 1), "the writer may have given up");
        assert_eq!(Reading::taken(RESERVED | 1, late), Some(2), "a reservation is void in the end");
        assert_eq!(Reading::taken(WRITERS | 1, Claim { slept: true, ..Claim::NONE }), Some(WRITERS | 2));
    }
}
