//! A general-purpose reader-writer lock in which neither side starves the other.
//!
//! The lock is one 32-bit word. Under contention, waiters spin while that can pay off and block otherwise. Every
//! operation is a read-modify-write of the word. The releasing one is the last memory access of an unlock, so the
//! next owner may free the memory.
//!
//! One of the readers can hold the lock *upgradably*. It excludes writers and other upgradable holders, and can become
//! the writer without releasing the lock. A writer can become a reader, upgradable or not.
//!
//! # State
//!
//! | bits of `word` | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 31 | `WRITER` | a writer holds the lock | that writer | that writer |
//! | 30 | `WRITERS` | a writer may be blocked; readers that arrive now wait | a writer that is about to block, or has blocked | the thread that wakes a writer |
//! | 29 | `READERS` | a reader may be blocked | a reader that is about to block | the thread that wakes all readers |
//! | 28 | `RESERVED` | only threads that have blocked may acquire the lock | such a thread while it runs; a writer keeps it set while blocked | that thread |
//! | 27 | `UPGRADABLE` | one of the readers holds the lock upgradably | that reader | that reader |
//! | 26 | `UPGRADER` | that reader waits for the others to leave; readers that arrive now wait | that reader when it is about to block | that reader |
//! | 25 | `NEXT` | a thread that wants the lock upgradably may be blocked | such a thread when it is about to block, or has blocked | the thread that wakes one |
//! | 0..25 | | number of readers that hold the lock, with the upgradable one | readers | readers |
//!
//! All threads block on the word, in four queues: readers, writers, threads that want the lock upgradably, and the
//! upgradable holder that waits to become the writer. A thread that wants the lock upgradably waits as a reader, and blocks
//! while `UPGRADABLE` is set, too.
//! `UPGRADER` is not `WRITERS`: when it ends, no writer loses its precedence, and no mark of a missing writer remains.
//!
//! # Memory ordering
//!
//! Acquisition is `Acquire` and release is `Release`, always by a read-modify-write of a single word. There is hence
//! no fence.
//!
//! **No wake-up is lost.** A reader blocks only while a writer holds the lock, or while readers hold it and `WRITERS`
//! or `UPGRADER` is set. A thread that wants the lock upgradably also blocks while `UPGRADABLE` is set. A writer blocks
//! only while a thread holds the lock, and the upgradable holder only while other readers hold it. Each sets its flag in
//! the word that the kernel compares.
//!
//! - The last reader that leaves, upgradable or not, clears `WRITERS` and wakes a writer.
//! - A writer that leaves wakes all readers, and one thread that wants the lock upgradably. If there are none, it clears
//!   `WRITERS` and wakes a writer.
//! - A writer that becomes a reader wakes the same threads. `WRITERS` stays, because the last reader checks it.
//! - A reader that leaves the upgradable holder as the only one wakes it if `UPGRADER` is set. That queue has at most
//!   one thread, so a wake-up that comes late, or too early, is taken from no other thread.
//! - A reader that did not see `WRITERS` subtracts itself without a loop. If the flag was set in between, the reader
//!   wakes a writer too, and the flag stays on the unlocked lock. If that writer has just given up, arriving readers
//!   ignore the flag after 0.2 ms. `UPGRADER` needs no such check: a reader that leaves does not clear it.
//! - The reader that ends `UPGRADABLE` clears `NEXT` in that step and wakes a thread that wants the lock upgradably; the
//!   reader that ends `UPGRADER` clears `READERS` and wakes all readers. If `WRITERS` is set, they leave this to the last
//!   reader, since the woken threads would block again. The last reader wakes a writer or, if that writer has given up,
//!   those threads.
//! - An upgrade that succeeds ends both flags and keeps the others: threads that blocked because of them now wait for
//!   the writer to leave.
//! - An upgrade that gives up ends `UPGRADER` only. Its thread remains a reader, and no thread relied on its wake-up.
//! - A woken writer acquires the lock with `WRITERS` set, since other writers may be blocked. A woken thread that wants the
//!   lock upgradably acquires it with `NEXT` set.
//! - If the wake-up found no thread (it timed out), the waker wakes the other side.
//! - A thread that gives up on an unlocked lock wakes another one. A writer that gives up on a held lock clears `WRITERS`
//!   and wakes a writer, which sets the flag again before it blocks; if it finds none, it wakes the readers, unless an
//!   upgrade waits. On a reserved lock, it sets the flag instead, so that the thread that leaves wakes a writer.
//!
//! # Lifetime
//!
//! The releasing read-modify-write is the last memory access of an unlock: the thread that holds the lock last may
//! free the memory. After it, the thread at most passes the *address* of the word to the kernel to wake a waiter.
//!
//! # Fork
//!
//! A forked child may use a lock that its thread held (in any mode, and as the only holder) or that no thread held,
//! regardless of which threads were waiting for it. Their flags cost a wake-up that finds no thread, and their
//! reservation expires after about 0.2 ms. If a writer was waiting, a reader of the child that arrives while another
//! one holds the lock waits until that one leaves. A thread that waits for its upgrade holds the lock, so its flags
//! never get into a child that may use the lock.
//!
//! # Fairness
//!
//! Readers that arrive while a writer is blocked wait behind it. When the writer leaves, all
//! blocked readers go first, also past the flag of the next writer, but each of them only once. A woken thread that
//! finds the lock acquired by another thread reserves it: then only threads that have blocked can acquire it. A
//! writer's reservation lasts until the writer has held the lock.
//!
//! A reader that acquires the lock twice can therefore deadlock with a writer that arrives in between, unless it
//! calls [`lock_shared_recursive`](AdaptiveRw::lock_shared_recursive), which overtakes waiting writers.
//!
//! An upgrade goes before the blocked writers, since none of them can acquire the lock earlier. While the holder waits for
//! it, readers that arrive wait, too. An upgrade that times out lets them in, unless a writer is blocked.
//!
//! A thread that wants the lock upgradably waits behind a blocked writer, as a reader does. An upgradable holder that
//! leaves while a writer is blocked wakes no reader, so a chain of such holders does not starve the writers. Waiters for
//! upgradable mode are woken one at a time, in the order in which they blocked. One that finds the lock acquired
//! upgradably by another thread keeps its reservation while it is blocked, as a writer does; the first reader that arrives
//! then waits for its end, for some 0.4 ms.
//!
//! No bound of the waiting time is proven: a woken thread that does not run before its reservation expires blocks again.
//! A timed acquisition does not yield its CPU, and looks at its deadline while it spins.
//!
//! # Stopped or terminated threads
//!
//! A writer that is stopped or dies while it holds the lock blocks all other threads; a reader blocks the writers,
//! and the readers behind them. An upgradable holder also blocks the threads that want this mode and, if it is stopped
//! or dies while it waits for its upgrade, the readers that arrive. In [`Shared`](crate::Shared) scope, these may be
//! threads of other processes.
//!
//! A stopped or dead waiter blocks no thread once the present holders have left: until then, readers that arrive wait
//! behind a writer that waits, stopped or not. Its reservation expires when the lock has been unlocked for about 0.2 ms,
//! or after about 0.5 ms among readers. In [`Shared`](crate::Shared) scope, a blocked waiter also re-checks the word
//! after 10 ms, and after twice the time with each check, up to a second.
//!
//! # References
//!
//! One word for both sides: `rwlock` of Hubertus Franke's ulocks, 2002. Priority for threads that have waited:
//! phase-fair locks (Brandenburg and Anderson, ECRTS 2009), and [`Adaptive`](crate::Adaptive) of this crate. Upgradable
//! mode: the update locks of databases (Gray and Reuter, *Transaction Processing*, 1993), and `RwLock` of parking_lot.
//!
//! Readers share the cache line of the word. Locks with a line for each reader (BRAVO: Dice and Kogan, USENIX ATC 2019)
//! scale further on many CPUs, and their writers must scan all lines.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
        pause,
    },
    count::{Count, NoCount},
    futex::{self, Deadline, Private, Scope, Wait},
    naps::Naps,
};
use core::marker::PhantomData;

#[cfg(all(test, not(loom)))]
mod model;

/// A general-purpose reader-writer lock of 4 bytes.
///
/// Neither side starves the other. Readers on several CPUs share one cache line. `try_lock_shared`,
/// `try_lock_upgradable` and `try_lock_exclusive` can fail on an unlocked lock that is reserved for a waiter. The
/// [crate's documentation](crate) describes the behaviour across fork, dlclose and signals.
///
/// # Examples
///
/// ```
/// use ulocks::{AdaptiveRw, lock_api::RwLock};
///
/// static NAMES: RwLock<AdaptiveRw, Vec<&str>> = RwLock::new(Vec::new());
/// NAMES.write().push("Hoare");
/// assert_eq!(NAMES.read().len(), 1);
/// ```
///
/// A thread that reads, and writes only if it must, while other threads read:
///
/// ```
/// use ulocks::{AdaptiveRw, lock_api::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard}};
///
/// static NAMES: RwLock<AdaptiveRw, Vec<&str>> = RwLock::new(Vec::new());
///
/// let names = NAMES.upgradable_read();
/// assert!(NAMES.try_read().is_some() && NAMES.try_upgradable_read().is_none());
/// if !names.contains(&"Hoare") {
///     let mut names = RwLockUpgradableReadGuard::upgrade(names);
///     names.push("Hoare");
///     let names = RwLockWriteGuard::downgrade(names);
///     assert_eq!(names.len(), 1);
/// }
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
        /// Returns an unlocked lock.
        pub fn new() -> Self {
            AdaptiveRw { word: AtomicU32::new(0), counts: C::ZERO, scope: PhantomData }
        }
    }

    /// Acquires the lock for reading, and waits if a writer holds it or waits for it.
    ///
    /// If the maximum number of readers (33,554,431) holds the lock, it also waits until one leaves.
    #[inline]
    pub fn lock_shared(&self) {
        if !self.take_as::<Reading>() {
            self.lock_shared_by(None);
        }
    }

    /// Acquires the lock for reading if no writer holds it or waits for it, and fewer than 33,554,431 readers, the
    /// largest count, hold it.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        self.try_as::<Reading>()
    }

    /// Acquires the lock for reading, and overtakes waiting writers.
    ///
    /// It is for a thread that holds the lock for reading already, or acts for a thread that does. Readers that
    /// always use it starve the writers.
    #[inline]
    pub fn lock_shared_recursive(&self) {
        if !self.take_as::<Again>() {
            self.lock_shared_recursive_by(None);
        }
    }

    /// Acquires the lock for reading if no writer holds it; see
    /// [`lock_shared_recursive`](Self::lock_shared_recursive).
    #[inline]
    pub fn try_lock_shared_recursive(&self) -> bool {
        self.try_as::<Again>()
    }

    /// Releases a shared acquisition. The last reader wakes a writer.
    ///
    /// # Safety
    ///
    /// The caller holds the lock for reading, and gives up that acquisition.
    #[inline]
    pub unsafe fn unlock_shared(&self) {
        if self.word.load(Relaxed) & WRITERS != 0 {
            return self.leave_to_a_writer();
        }
        let before = self.word.fetch_sub(1, Release);
        if before & (WRITERS | UPGRADER) != 0 {
            // `WRITERS`, if it was set after the check, stays, since the lock may be gone by now: the writer clears it.
            wake::<S>(&self.word, left_by_reader(before).1);
        }
    }

    /// Releases a shared acquisition while a writer may be blocked: the last reader clears `WRITERS` in the step that
    /// releases the lock.
    #[cold]
    fn leave_to_a_writer(&self) {
        change::<S>(&self.word, left_by_reader);
    }

    /// Acquires the lock for writing, and waits if it is held.
    #[inline]
    pub fn lock_exclusive(&self) {
        if self.word.compare_exchange(0, WRITER, Acquire, Relaxed).is_err() {
            self.lock_exclusive_by(None);
        }
    }

    /// Acquires the lock for writing if no thread holds it now and it is not reserved for a thread that has waited.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        self.try_as::<Writing>()
    }

    #[inline]
    fn try_as<W: Side>(&self) -> bool {
        self.take_as::<W>() || is_free(self.word.load(Relaxed)) && self.try_again::<W>()
    }

    /// Acquires the lock if no holder, waiting writer or reservation prevents it.
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

    /// Cancels the claims on an unlocked lock, and acquires the lock if there were none.
    ///
    /// A reservation is respected only once, since the reserving thread may not exist any more. A writer that is
    /// blocked although the lock is unlocked is woken; if there is none, `WRITERS` belongs to no thread.
    #[cold]
    fn try_again<W: Side>(&self) -> bool {
        let word = self.word.load(Relaxed);
        let bare = word & !(RESERVED | WRITERS);
        if !is_free(word) || self.word.compare_exchange(word, bare, Relaxed, Relaxed).is_err() {
            return false;
        }
        let comes = word & WRITERS != 0 && wake_writer::<S>(&self.word, word);
        let taken = W::taken(bare, Claim::NONE).filter(|_| !comes && word & RESERVED == 0);
        taken.is_some_and(|taken| self.word.compare_exchange(bare, taken, Acquire, Relaxed).is_ok())
    }

    /// Releases the exclusive acquisition. Wakes all blocked readers or, if there are none, a writer.
    ///
    /// # Safety
    ///
    /// The caller holds the lock for writing, and gives up that acquisition.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        if self.word.compare_exchange(WRITER, 0, Release, Relaxed).is_err() {
            unlock_and_wake::<S>(&self.word);
        }
    }

    /// Converts the exclusive acquisition into a shared one, without releasing the lock. Wakes all blocked readers.
    ///
    /// # Safety
    ///
    /// The caller holds the lock for writing, and afterwards for reading.
    #[inline]
    pub unsafe fn downgrade(&self) {
        change::<S>(&self.word, |word| changed_by_writer(word, 1));
    }

    /// Acquires the lock upgradably: for reading, and as the only thread that can [`upgrade`](Self::upgrade).
    ///
    /// It waits if a writer holds the lock or waits for it, or another thread holds it upgradably. Readers are not
    /// excluded. A thread that holds the lock in any mode must not call it: it may wait for itself.
    #[inline]
    pub fn lock_upgradable(&self) {
        if !self.take_as::<Upgradable>() {
            self.lock_upgradable_by(None);
        }
    }

    /// Acquires the lock upgradably if no writer holds it or waits for it, and no other thread holds it upgradably.
    #[inline]
    pub fn try_lock_upgradable(&self) -> bool {
        self.try_as::<Upgradable>()
    }

    /// Releases an upgradable acquisition. Wakes a writer or, if none waits, the threads that want to acquire the lock
    /// upgradably.
    ///
    /// # Safety
    ///
    /// The caller holds the lock upgradably, and gives up that acquisition.
    #[inline]
    pub unsafe fn unlock_upgradable(&self) {
        change::<S>(&self.word, left_by_upgradable);
    }

    /// Converts the upgradable acquisition into the exclusive one, without releasing the lock.
    ///
    /// It waits until all other readers have left, and readers that arrive wait. A thread that holds the lock for
    /// reading a second time therefore waits for itself.
    ///
    /// # Safety
    ///
    /// The caller holds the lock upgradably, and afterwards for writing.
    #[inline]
    pub unsafe fn upgrade(&self) {
        if !self.take_as::<Upgrading>() {
            self.upgrade_by(None);
        }
    }

    /// Converts the upgradable acquisition into the exclusive one if no other reader holds the lock; returns whether it
    /// did.
    ///
    /// # Safety
    ///
    /// The caller holds the lock upgradably, and afterwards for writing if the result is `true`.
    #[inline]
    pub unsafe fn try_upgrade(&self) -> bool {
        self.take_as::<Upgrading>()
    }

    /// Converts the upgradable acquisition into a shared one, without releasing the lock. Wakes the threads that want to
    /// acquire the lock upgradably, if no writer waits.
    ///
    /// # Safety
    ///
    /// The caller holds the lock upgradably, and afterwards for reading.
    #[inline]
    pub unsafe fn downgrade_upgradable(&self) {
        change::<S>(&self.word, |word| let_in(word & !UPGRADABLE, NEXT));
    }

    /// Converts the exclusive acquisition into an upgradable one, without releasing the lock. Wakes all blocked readers.
    ///
    /// # Safety
    ///
    /// The caller holds the lock for writing, and afterwards upgradably.
    #[inline]
    pub unsafe fn downgrade_to_upgradable(&self) {
        change::<S>(&self.word, |word| changed_by_writer(word, UPGRADABLE | 1));
    }

    /// Returns whether a thread holds the lock at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & (WRITER | COUNT) != 0
    }

    /// Returns whether a writer holds the lock at this moment.
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        self.word.load(Relaxed) & WRITER != 0
    }

    /// Returns the counters of this lock.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    /// Declares that the memory may be reused: loom then reports any thread that still accesses it.
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
    fn lock_upgradable_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.read_contended();
        wait::<S, Upgradable>(&self.word, &self.counts, deadline)
    }

    #[cold]
    fn upgrade_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.write_contended();
        wait::<S, Upgrading>(&self.word, &self.counts, deadline)
    }

    #[cold]
    fn lock_exclusive_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.write_contended();
        wait::<S, Writing>(&self.word, &self.counts, deadline)
    }
}

/// Releases the lock, or changes the mode in which it is held, and wakes the threads that this lets in.
#[inline]
fn change<S: Scope>(lock: &AtomicU32, changed: impl Fn(u32) -> (u32, Wake)) {
    let mut word = lock.load(Relaxed);
    loop {
        let (next, wakes) = changed(word);
        match lock.compare_exchange_weak(word, next, Release, Relaxed) {
            Ok(_) if wakes == Wake::None => return,
            Ok(_) => return wake::<S>(lock, wakes),
            Err(now) => word = now,
        }
    }
}

#[cold]
fn wake<S: Scope>(lock: &AtomicU32, wakes: Wake) {
    match wakes {
        Wake::None => {}
        Wake::Writer { or } => {
            wake_writer::<S>(lock, or);
        }
        Wake::Arrivals(flags) => {
            wake_arrivals::<S>(lock, flags);
        }
        Wake::Upgrader => {
            futex::wake::<S>(lock, 1, UPGRADING);
        }
    }
}

#[cold]
fn unlock_and_wake<S: Scope>(lock: &AtomicU32) {
    let mut word = lock.load(Relaxed);
    while let Err(now) = lock.compare_exchange_weak(word, left_by_writer(word), Release, Relaxed) {
        word = now;
    }
    if !wake_arrivals::<S>(lock, word) && word & WRITERS != 0 {
        futex::wake::<S>(lock, 1, WRITING);
    }
}

/// Wakes a writer or, if no writer is blocked any more, the threads of these flags that waited behind it; returns whether a
/// writer comes.
#[cold]
fn wake_writer<S: Scope>(lock: &AtomicU32, or: u32) -> bool {
    let comes = futex::wake::<S>(lock, 1, WRITING) > 0;
    if !comes {
        wake_arrivals::<S>(lock, or);
    }
    comes
}

/// Wakes all readers, and one thread that wants the lock upgradably, as far as these flags show them; returns whether one
/// comes.
fn wake_arrivals<S: Scope>(lock: &AtomicU32, flags: u32) -> bool {
    let readers = flags & READERS != 0 && futex::wake::<S>(lock, u32::MAX, READING) > 0;
    let next = flags & NEXT != 0 && futex::wake::<S>(lock, 1, WANTING) > 0;
    readers || next
}

raw_rwlock!([S: Scope, C: Count] AdaptiveRw<S, C>);
raw_rwlock_timed!([S: Scope, C: Count] AdaptiveRw<S, C>, Self::take_as::<Reading>, Self::take_as::<Writing>);
raw_rwlock_recursive!([S: Scope, C: Count] AdaptiveRw<S, C>, Self::take_as::<Again>);
raw_rwlock_upgrade!([S: Scope, C: Count] AdaptiveRw<S, C>, Self::take_as::<Upgradable>, Self::take_as::<Upgrading>);

// The word of the lock: the meaning of its bits, and the transitions of each side as pure functions.

const WRITER: u32 = 1 << 31;
const WRITERS: u32 = 1 << 30;
const READERS: u32 = 1 << 29;
const RESERVED: u32 = 1 << 28;
const UPGRADABLE: u32 = 1 << 27;
const UPGRADER: u32 = 1 << 26;
const NEXT: u32 = 1 << 25;
const COUNT: u32 = NEXT - 1;
/// The flags of threads that wait to hold the lock together with others.
const ARRIVALS: u32 = READERS | NEXT;

/// Wait queues of the word.
const READING: u32 = 1;
const WRITING: u32 = 2;
const UPGRADING: u32 = 4;
const WANTING: u32 = 8;

/// The restrictions that a thread that wants the lock may ignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Claim {
    /// Whether the thread has blocked, and so has waited long enough to go next.
    slept: bool,
    /// Whether the reservation is its own.
    reserved: bool,
    /// Whether the threads with an earlier claim do not come.
    void: bool,
}

impl Claim {
    /// The claim of a waiter that has just arrived.
    const NONE: Claim = Claim { slept: false, reserved: false, void: false };

    /// Returns `word` without a reservation that has served its purpose.
    fn used(self, word: u32) -> u32 {
        if self.reserved || self.void { word & !RESERVED } else { word }
    }
}

/// One of the ways to hold the lock.
trait Side {
    /// The flag for a blocked thread of this side.
    const MARK: u32;
    /// The queue in which threads of this side block.
    const QUEUE: u32;

    /// Returns the word after a thread with this claim has acquired the lock, if it may.
    fn taken(word: u32, claim: Claim) -> Option<u32>;
    /// Returns whether a holder will wake a thread of this side.
    fn must_wait(word: u32) -> bool;

    /// Returns the word after a thread of this side has given up, and the threads to be woken.
    fn given_up(word: u32) -> (u32, Wake) {
        (word, if is_free(word) { a_writer(word) } else { Wake::None })
    }
}

struct Reading;
/// Reading that overtakes waiting writers.
struct Again;
/// Reading as the thread that can become the writer.
struct Upgradable;
/// Writing by the thread that holds the lock upgradably.
struct Upgrading;
struct Writing;

/// The threads to be woken after a change of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wake {
    None,
    /// One writer or, if no writer is blocked any more, those of these flags.
    Writer {
        or: u32,
    },
    /// All readers, and one thread that wants the lock upgradably, as far as these flags show them.
    Arrivals(u32),
    /// The upgradable holder that waits for the other readers.
    Upgrader,
}

impl Side for Reading {
    const MARK: u32 = READERS;
    const QUEUE: u32 = READING;

    fn taken(word: u32, claim: Claim) -> Option<u32> {
        // While readers hold the lock, the last of them wakes the writer that set `WRITERS`, however long this thread
        // was without a CPU in the meantime. On an unlocked lock, the flag may be that of a writer that gave up.
        let yields_to_writers = word & (WRITERS | UPGRADER) != 0 && !(claim.void && is_free(word));
        let is_reserved = word & RESERVED != 0 && !claim.void;
        let is_barred = (yields_to_writers || is_reserved) && !claim.slept;
        (word & WRITER == 0 && word & COUNT != COUNT && !is_barred).then(|| claim.used(word) + 1)
    }

    /// No thread blocks on a reservation alone, because no thread would report its end.
    fn must_wait(word: u32) -> bool {
        word & WRITER != 0 || (word & COUNT != 0 && word & (WRITERS | UPGRADER) != 0)
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

impl Side for Upgradable {
    const MARK: u32 = NEXT;
    const QUEUE: u32 = WANTING;

    fn taken(word: u32, claim: Claim) -> Option<u32> {
        // The waker has cleared the flag, and other threads may be blocked.
        let mark = if claim.slept { NEXT } else { 0 };
        Reading::taken(word, claim).filter(|_| word & UPGRADABLE == 0).map(|taken| taken | UPGRADABLE | mark)
    }

    fn must_wait(word: u32) -> bool {
        Reading::must_wait(word) || word & UPGRADABLE != 0
    }
}

impl Side for Upgrading {
    const MARK: u32 = UPGRADER;
    const QUEUE: u32 = UPGRADING;

    /// The thread is a reader, so a reservation, which is for a thread that waits for the lock, does not concern it.
    fn taken(word: u32, claim: Claim) -> Option<u32> {
        let used = Claim { void: false, ..claim }.used(word) & !(UPGRADABLE | UPGRADER);
        (word & (WRITER | COUNT) == 1).then(|| (used - 1) | WRITER)
    }

    fn must_wait(word: u32) -> bool {
        word & (WRITER | COUNT) != 1
    }

    /// The thread remains a reader.
    fn given_up(word: u32) -> (u32, Wake) {
        let_in(word & !UPGRADER, READERS)
    }
}

impl Side for Writing {
    const MARK: u32 = WRITERS;
    const QUEUE: u32 = WRITING;

    fn taken(word: u32, claim: Claim) -> Option<u32> {
        let is_barred = word & RESERVED != 0 && !claim.slept && !claim.void;
        // The waker has cleared the flag, and other writers may be blocked.
        let mark = if claim.slept { WRITERS } else { 0 };
        (word & (WRITER | COUNT) == 0 && !is_barred).then(|| claim.used(word) | WRITER | mark)
    }

    fn must_wait(word: u32) -> bool {
        word & (WRITER | COUNT) != 0
    }

    /// The flag may be that of other writers. One of them is woken and sets it again; without one, readers that waited
    /// behind it are woken. While a writer holds the lock, or an upgrade waits for it, these wait for its end.
    ///
    /// With a reservation, the flag stays: a woken writer may be running, which no wake-up would find, and woken readers
    /// would go before it.
    fn given_up(word: u32) -> (u32, Wake) {
        if is_free(word) {
            (word & !WRITERS, a_writer(word))
        } else if word & RESERVED != 0 {
            (word | WRITERS, Wake::None)
        } else {
            let or = if word & (WRITER | UPGRADER) == 0 { word & ARRIVALS } else { 0 };
            (word & !WRITERS, Wake::Writer { or })
        }
    }
}

fn is_free(word: u32) -> bool {
    word & (WRITER | COUNT) == 0
}

fn a_writer(word: u32) -> Wake {
    Wake::Writer { or: word & ARRIVALS }
}

/// Returns the word after a reader has left that does not hold the lock upgradably, and the threads to be woken.
fn left_by_reader(word: u32) -> (u32, Wake) {
    let next = word.wrapping_sub(1);
    if is_free(next) && next & WRITERS != 0 {
        (next & !WRITERS, a_writer(next))
    } else if next & UPGRADER != 0 && next & COUNT == 1 {
        (next, Wake::Upgrader)
    } else {
        (next, Wake::None)
    }
}

/// Returns the word after the upgradable holder has left, and the threads to be woken.
fn left_by_upgradable(word: u32) -> (u32, Wake) {
    let next = word.wrapping_sub(1) & !UPGRADABLE;
    if is_free(next) && next & WRITERS != 0 { (next & !WRITERS, a_writer(next)) } else { let_in(next, NEXT) }
}

/// Returns the word after the end of a flag that kept these threads out, and the threads to be woken.
///
/// Behind a blocked writer they still wait. The last reader wakes it, or them if it has given up.
fn let_in(word: u32, flags: u32) -> (u32, Wake) {
    if word & WRITERS == 0 && word & flags != 0 {
        (word & !flags, Wake::Arrivals(word & flags))
    } else {
        (word, Wake::None)
    }
}

/// Returns the word after the writer has become the holder `as_reader`, and the threads to be woken.
///
/// An upgradable one still keeps those out that want the lock in this mode.
fn changed_by_writer(word: u32, as_reader: u32) -> (u32, Wake) {
    let arrivals = if as_reader & UPGRADABLE == 0 { word & ARRIVALS } else { word & READERS };
    let next = (word & !(WRITER | arrivals)) + as_reader;
    (next, if arrivals != 0 { Wake::Arrivals(arrivals) } else { Wake::None })
}

/// Returns the word after a writer has left. `WRITERS` stays set while others go first, because the last of them
/// checks it.
fn left_by_writer(word: u32) -> u32 {
    let next = word & !(WRITER | ARRIVALS);
    if word & ARRIVALS != 0 { next } else { next & !WRITERS }
}

// Waiting, for either side: spin, block, check again.

/// A waiting thread.
struct Waiter<'a, W> {
    word: &'a AtomicU32,
    claim: Claim,
    side: PhantomData<W>,
}

/// Acquires the lock or gives up at the deadline; returns whether it acquired the lock.
#[cold]
fn wait<S: Scope, W: Side>(word: &AtomicU32, counts: &impl Count, deadline: Option<Deadline>) -> bool {
    let mut waiter = Waiter::<W> { word, claim: Claim::NONE, side: PhantomData };
    if waiter.spin(deadline) {
        counts.spun();
        return true;
    }
    let mut naps = Naps::new();
    loop {
        let ended = match waiter.mark() {
            Marked::Taken => return true,
            // The count of readers is at its maximum, and a reader that leaves does not announce it.
            Marked::Full if futex::nap(deadline) => Wait::TimedOut,
            Marked::Full => Wait::Changed,
            Marked::At(expected) => {
                counts.slept();
                let nap = (!S::PRIVATE).then(|| naps.next());
                futex::wait::<S>(word, expected, W::QUEUE, futex::sooner(deadline, nap))
            }
        };
        // A reader that re-checks by itself has not been woken by a holder, so a waiting writer still goes first. The
        // same holds for one that a signal handler interrupted.
        waiter.claim.slept |= if W::MARK == READERS { ended == Wait::Woken } else { ended != Wait::Changed };
        // A signal handler may have run past the deadline while the lock was released: POSIX requires another check.
        let looks_again = matches!(ended, Wait::Woken | Wait::Interrupted);
        if !looks_again && deadline.is_some_and(|deadline| deadline.passed()) {
            waiter.give_up::<S>();
            return false;
        }
        // The end of a nap is not a wake-up: the thread blocks again, unless it may acquire the lock.
        if ended != Wait::TimedOut && waiter.spin(deadline) {
            return true;
        }
    }
}

/// Result of the attempt to announce a thread that wants to block.
enum Marked {
    /// The thread has acquired the lock.
    Taken,
    /// The thread can block while the word has this value.
    At(u32),
    /// The count is at its maximum, and no thread will wake this one.
    Full,
}

impl<W: Side> Waiter<'_, W> {
    fn take(&self, word: u32, void: bool) -> bool {
        W::taken(word, Claim { void, ..self.claim })
            .is_some_and(|taken| self.word.compare_exchange(word, taken, Acquire, Relaxed).is_ok())
    }

    /// Reserves the lock for this thread, which has blocked, so that no thread that has not blocked acquires it
    /// first.
    fn reserve(&mut self, word: u32) {
        self.claim.reserved |=
            word & RESERVED == 0 && self.word.compare_exchange(word, word | RESERVED, Relaxed, Relaxed).is_ok();
    }

    /// Ensures that the holder, if there is one, will wake this thread.
    ///
    /// No thread blocks on a lock without a holder, whichever thread it is reserved for.
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
            // A writer that was woken and found the lock acquired keeps its reservation while it is blocked.
            // Otherwise the reader that leaves last, and returns at once, would acquire the lock each time before the
            // writer runs. The same holds for upgradable mode.
            let keeps = W::MARK == WRITERS || W::MARK == NEXT;
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

    /// Leaves without the lock.
    ///
    /// Other threads may have relied on this thread. It therefore informs the holder of them; if there is no holder,
    /// it wakes one of them now.
    fn give_up<S: Scope>(&self) {
        loop {
            let word = self.word.load(Relaxed);
            let (next, wakes) = W::given_up(self.without_reservation(word));
            if self.word.compare_exchange(word, next, Relaxed, Relaxed).is_ok() {
                return wake::<S>(self.word, wakes);
            }
        }
    }
}

#[cfg(not(loom))]
mod patience {
    use super::*;
    use crate::{atomic::give_way, cpu::coarse_now};

    /// Time limit of a spin, in units of about 10 µs.
    const PATIENCE: u32 = 3;
    /// Time for which an unlocked lock is left to the thread that reserved it: longer than a wake-up on another CPU takes.
    const PATIENCE_FREE: u32 = 20;
    /// Time limit of a spin with a reservation.
    const PATIENCE_RESERVED: u32 = 20;
    /// Time after which a reservation expires.
    const VOID: u32 = 2 * PATIENCE_RESERVED;
    /// Iterations of a spin, of about 100 ns each, after which a thread blocks if other threads are blocked: the
    /// queue is long.
    const ROUNDS: u32 = 12;
    const PAUSES: u32 = 4;

    impl<W: Side> Waiter<'_, W> {
        /// Spins while that can pay off; returns whether it acquired the lock.
        ///
        /// A thread with a deadline does not yield: that may cost it a time slice of another program.
        pub(super) fn spin(&mut self, deadline: Option<Deadline>) -> bool {
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
                if deadline.is_some_and(|deadline| deadline.passed()) {
                    return false;
                }
                rounds += 1;
                // A thread must wait for an unlocked lock only if a stray write has changed the word: then it blocks.
                if is_free(word) && !W::must_wait(word) {
                    // The lock is reserved for a thread that does not run, or it would have acquired the lock. It may
                    // be waiting for this CPU.
                    free_since = free_since.or(Some(age));
                    if deadline.is_none() {
                        give_way();
                    }
                    continue;
                }
                free_since = None;
                if self.claim.slept && !self.claim.reserved {
                    self.reserve(word);
                }
                let is_overloaded = !self.claim.slept && word & (WRITERS | READERS) != 0 && rounds > ROUNDS;
                if age > VOID || (W::must_wait(word) && (age >= patience || is_overloaded)) {
                    return false;
                }
                // Each read of the word takes its cache line from the threads that change it.
                (0..PAUSES.max(rounds.min(64))).for_each(|_| pause());
            }
        }
    }
}

/// Makes one attempt, and a second one with a reservation for a thread that was blocked: in a model, the length of a
/// spin proves nothing.
#[cfg(loom)]
impl<W: Side> Waiter<'_, W> {
    fn spin(&mut self, _: Option<Deadline>) -> bool {
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

    /// Regression: a reader that had no CPU for half a millisecond while it read the word overtook a waiting writer.
    #[test]
    fn late_reader_does_not_overtake_a_waiting_writer() {
        let late = Claim { void: true, ..Claim::NONE };
        assert_eq!(Reading::taken(WRITERS | 1, late), None);
        assert_eq!(Reading::taken(WRITERS, late), Some(WRITERS | 1), "the writer may have given up");
        assert_eq!(Reading::taken(RESERVED | 1, late), Some(2), "a reservation is void in the end");
        assert_eq!(Reading::taken(WRITERS | 1, Claim { slept: true, ..Claim::NONE }), Some(WRITERS | 2));
    }

    /// The writer would otherwise hold a flag that keeps readers out after its downgrade, or give away a reservation.
    #[test]
    fn upgrade_ends_its_flags_and_keeps_those_of_waiters() {
        let kept = WRITERS | READERS | RESERVED;
        let late = Claim { void: true, ..Claim::NONE };
        assert_eq!(Upgrading::taken(kept | UPGRADABLE | UPGRADER | 1, late), Some(kept | WRITER));
        assert_eq!(Upgrading::taken(UPGRADABLE | UPGRADER | 2, late), None);
        assert_eq!(changed_by_writer(kept | WRITER, 1), (kept & !READERS | 1, Wake::Arrivals(READERS)));
    }

    #[test]
    fn upgradable_reader_is_one_of_the_largest_number() {
        let full = UPGRADABLE | COUNT;
        assert_eq!(Upgradable::taken(COUNT - 1, Claim::NONE), Some(full));
        assert_eq!((Upgradable::taken(COUNT, Claim::NONE), Reading::taken(full, Claim::NONE)), (None, None));
        assert_eq!(let_in(full & !UPGRADABLE, NEXT), (COUNT, Wake::None));
        assert_eq!(left_by_upgradable(full), (COUNT - 1, Wake::None));
    }

    /// A reader arrives after the upgrade has begun to wait, and waits, too; the last reader that is inside wakes it.
    #[test]
    fn readers_that_arrive_wait_for_an_upgrade() {
        let word = UPGRADABLE | UPGRADER | 2;
        assert!(Reading::taken(word, Claim::NONE).is_none() && Reading::must_wait(word));
        assert_eq!(Again::taken(word, Claim::NONE), Some(word + 1), "it holds the lock already");
        assert_eq!(left_by_reader(word + 1), (word, Wake::None));
        assert_eq!(left_by_reader(word), (word - 1, Wake::Upgrader));
        assert_eq!(left_by_reader(word | WRITERS), ((word | WRITERS) - 1, Wake::Upgrader), "no writer can go first");
    }

    /// Regression: the flag of a writer that had given up kept readers out until those that held the lock left.
    #[test]
    fn writer_that_gives_up_takes_its_flag_away() {
        assert_eq!(Writing::given_up(WRITERS | 1), (1, Wake::Writer { or: 0 }));
        assert_eq!(Writing::given_up(WRITERS | READERS | 1), (READERS | 1, Wake::Writer { or: READERS }));
        assert_eq!(Writing::given_up(WRITERS | READERS | WRITER), (READERS | WRITER, Wake::Writer { or: 0 }));
    }

    /// Readers that it wakes would go before a writer that spins, or before an upgrade, which could starve.
    #[test]
    fn writer_that_gives_up_wakes_no_reader_past_others() {
        let spinning = RESERVED | WRITERS | READERS | 1;
        assert_eq!(Writing::given_up(spinning), (spinning, Wake::None));
        assert_eq!(Writing::given_up(RESERVED | 1), (RESERVED | WRITERS | 1, Wake::None), "others relied on it");
        let upgrading = UPGRADABLE | UPGRADER | READERS | 2;
        assert_eq!(Writing::given_up(upgrading | WRITERS), (upgrading, Wake::Writer { or: 0 }));
        assert_eq!(Writing::given_up(WRITERS | READERS), (READERS, Wake::Writer { or: READERS }), "it is unlocked");
    }
}
