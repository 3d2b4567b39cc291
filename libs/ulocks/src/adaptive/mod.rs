//! The lock to take when you don't want to choose.
//!
//! One 32-bit word. Uncontended it costs one atomic read-modify-write and one plain store, where other locks that can
//! sleep cost two read-modify-writes. The store that frees it is the last access of an unlock: who gets it next may
//! free the memory. Contended it spins while that can pay, sleeps otherwise, and lets nobody starve.
//!
//! # State
//! | `word` bits | name | meaning | changed by |
//! |---|---|---|---|
//! | 0 | `HELD` | somebody holds the lock | the taker; the holder |
//! | 1 | `WAITERS` | somebody may sleep: the unlock sees to it | who is about to sleep, or has slept; the holder |
//! | 2 | `RESERVED` | only a spinner that has waited long may take it | that spinner; the taker |
//! | 3..7 | `CREDIT` | how many more quiet acquisitions are freed by a read-modify-write | the taker; the holder |
//! | 7..9 | `SLICE` | how long sleepers wait for their turn: 0 is longest | who has slept; the holder |
//! | 9 | `WAKING` | somebody was woken, and has neither taken the lock nor slept again | the holder; who was woken |
//! | 10..14 | `AWAKE` | a thread of this process generation spins and will take the lock or say so | that spinner |
//! | 14..22 | `CPU` | a hint: where the holder was when it took the lock, plus one | the taker |
//! | 22..32 | `STAMP` | when a sleeper's turn last came, in units of about 10 µs | who wakes; who has slept |
//!
//! `0` is free. `HELD` alone is held *plain*: its holder frees it by a plain store of 0.
//!
//! # The unlock that is a plain store
//! It is a restartable sequence: if the word is `HELD` and nothing else, store 0. (See the file of the sequence for
//! what the kernel promises.) Who wants to sleep on a plain lock sets `WAITERS` by compare-and-swap, calls the
//! membarrier that restarts such sequences, and looks again. If `WAITERS` is still there then, no holder will store
//! over it. If the sequence was aborted or finds another word it stores nothing, and the lock is freed by
//! compare-and-swap.
//!
//! A membarrier costs 0.4 µs alone and some 9 µs when it must interrupt another CPU. A lock on which threads sleep
//! often should not pay that each time: so a thread that has waited takes the lock with a full `CREDIT`, and while
//! there is credit the word is freed by compare-and-swap, which loses no mark, and needs no membarrier. Each
//! acquisition that finds nobody waiting spends one credit; after the last the lock is plain.
//!
//! Nobody sleeps for a plain lock, so a spinner leaves it plain: it says nothing, looks seldom (each look takes the
//! cache line away from the holder), and, if it gets the lock, holds it plain again. Only its reservation is a mark,
//! which a plain store may remove: then it is made again.
//!
//! Between processes ([`Shared`](crate::Shared)), and where sequences don't work, the lock is always freed by
//! compare-and-swap: that costs a second atomic and is otherwise the same.
//!
//! # Ordering
//! Taking is `Acquire`, freeing `Release`, on one word. There is no second word, so there is no fence but the
//! membarrier.
//!
//! No wake-up is lost. Call a thread *answerable* from when it marks the word or is woken until it takes the lock with
//! `WAITERS`, sleeps, or gives up. For each thread that sleeps one of these holds:
//!
//! 1. The word is held with `WAITERS`, by a holder that won't store over it, and `AWAKE` says nothing: then its unlock
//!    wakes the one that sleeps longest, which is answerable from then on.
//! 2. The same, and `AWAKE` names a thread that spins. When that one takes the lock, sleeps or gives up it clears its
//!    `AWAKE` and leaves `WAITERS`: then it is 1.
//! 3. Somebody else is answerable. If it finds the lock free it takes it with `WAITERS`. If it is held it marks it
//!    before it sleeps; a mark that a plain store overwrote is seen to be missing after the membarrier, and made again.
//!    If it gives up it leaves a marked word, or wakes another, which is answerable then.
//!
//! `AWAKE` and `WAKING` may be cleared by anybody at any time: what that costs is a wake too many. `WAKING` suppresses
//! wakes only, and whoever sleeps clears it: so it never stands for less than one who is answerable.
//!
//! # Lifetime
//! The memory may be freed by whoever holds the lock last, while an earlier holder is still in its `unlock`: after
//! the store or the compare-and-swap that frees, that one does nothing but, at most, give the kernel the word's
//! *address* to wake a sleeper. (If other memory is there by then, somebody who sleeps on it may wake for no reason,
//! as all futex users must expect.)
//!
//! # Fork
//! A child may use each lock that its one thread holds or that nobody held, however many threads of its parent waited
//! for it. It inherits their marks: `WAITERS` costs one wake that finds nobody; `AWAKE` carries the number of forks,
//! and counts for nothing in another generation (the numbers repeat after 15 forks from child to child: none of them
//! may keep a lock held and waited for through 15 generations); a reservation is void after a patience, and the first
//! `try_lock` that fails on it cancels it. A lock that another thread held is held for ever, as in POSIX. A child of
//! `vfork` or of a bare `clone` may not use private locks.
//!
//! # Fairness
//! Bounded in time. A free lock may be taken by whoever finds it, so it is never idle while a woken thread finds its
//! CPU. But a waiter that has spun for a patience while others took the lock sets `RESERVED`, and the next free is
//! its own; so does a sleeper as soon as it has been woken. While somebody spins, sleepers are woken one at a time,
//! the longest first, once a *slice* of 0.3 to 3 ms. That is what limits the price: between two handovers to a
//! sleeper the lock stays among threads that run. A sleeper that had to wait longer than some 8 ms halves the slice,
//! one that waited less than a quarter of that doubles it, as does a wake that nobody answered. A reservation whose
//! owner is not running is void once the lock has been seen free for a patience.
//!
//! # When it spins
//! For about as long as a wake costs (some 40 µs), at a plain lock with twice as many pauses after each look; not at
//! all if the holder was last seen on this CPU, since then it is not running: then it yields a few times, and sleeps.
//! One spins; others that come meanwhile spin for some 4 µs, or, of a crowd, sleep at once. That keeps the run queue
//! short. (A hundred threads that are all runnable on two CPUs, and that each use up a time slice, come back to a CPU after
//! a tenth of a second.) A spinner that has seen no change for its patience sleeps too: the holder holds
//! long, or does not run.
//!
//! # A stopped or dead holder
//! Blocks everybody else. A stopped or dead *waiter* does not, for long: its reservation becomes void, and its marks
//! are used up: a lock on which nobody waits any more is plain again after some 10 ms of use and 16 acquisitions. In
//! [`Shared`](crate::Shared) scope a sleeper also looks for itself every 100 ms, so a wake that a killed process took
//! with it is only late.
//!
//! # What loom shows and does not
//! The model has the word, the sleep, the reservation and the credit in full, and the sequence with its membarrier as
//! the kernel describes them: an abort at any step. Three wrong ways to write the pair must each fail in it. It does
//! not have time (slices, patience), CPUs, or forks. `docs/restartable-unlock.md` has the whole argument, a second
//! model, and figures.
//!
//! # Source
//! The restartable unlock is this crate's own; what it is made of: Paul Turner's and Mathieu Desnoyers' rseq(2),
//! membarrier(2), and the lock that touches nothing after it is free, of musl. The bounded unfairness: parking_lot's
//! and WebKit's eventual fairness. Few threads that circulate while the rest sleep: Dave Dice, "Malthusian Locks",
//! EuroSys 2017. Not spinning behind a holder that does not run: Mutexee and FlexGuard.

#[macro_use]
mod nounwind;
mod freeing;
mod generation;
mod spinning;
mod waiting;
mod word;

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    count::{Count, NoCount},
    cpu::cpu_hint,
    futex::{Deadline, Private, Scope},
    restartable,
};
use core::marker::PhantomData;
use freeing::{free, free_by};
use word::{HELD, RESERVED, handed_over, taken_quietly};

/// The adaptive lock. 4 bytes.
///
/// Uncontended, a private one costs one atomic instruction and one plain store. Contended, a waiter spins while that can
/// pay, then blocks; the time for which others can pass it is bounded. The memory may be freed by the thread that
/// acquires the lock last.
///
/// - **fork**: a child can use a lock that its thread held or that was free. Locks that other threads held stay held.
/// - **vfork**, bare `clone`: the child must not use a private lock.
/// - **dlclose**: a plugin that contains the lock can be unloaded once no thread runs its code or waits for the lock.
/// - **signal handlers**: [`try_lock`](Self::try_lock) and [`unlock`](Self::unlock) can be called.
/// - **spurious failure**: [`try_lock`](Self::try_lock) can fail on a free lock that is reserved for a waiter.
/// - **membarrier**: a thread that is about to block on a lock without recent waiters interrupts the other CPUs that run
///   threads of this process, for some microseconds.
/// - **dead holder**: a lock whose owner ended stays held; see [`Robust`](crate::Robust) for another one.
///
/// The [crate's documentation](crate) has the details.
///
/// ```
/// use ulocks::{Adaptive, lock_api::Mutex};
///
/// static HITS: Mutex<Adaptive, u64> = Mutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| (0..1000).for_each(|_| *HITS.lock() += 1));
///     }
/// });
/// assert_eq!(*HITS.lock(), 4000);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Adaptive<S: Scope = Private, C: Count = NoCount> {
    word: AtomicU32,
    counts: C,
    scope: PhantomData<S>,
}

const _: () = assert!(cfg!(loom) || size_of::<Adaptive>() == 4);

impl<S: Scope, C: Count> Adaptive<S, C> {
    const_unless_loom! {
        /// A free lock.
        pub fn new() -> Self {
            Adaptive { word: AtomicU32::new(0), counts: C::ZERO, scope: PhantomData }
        }
    }

    /// Takes the lock, waiting for it if it is held.
    #[inline]
    pub fn lock(&self) {
        if !self.take() {
            self.lock_again();
        }
    }

    /// Takes the lock if it is free now, and not reserved for a thread that has waited long.
    ///
    /// So it can fail although no thread holds the lock, while others wait for it or have just waited. A failure on a
    /// reservation cancels it: a thread that tries again and again gets a lock that stays free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.take_now() || self.try_again()
    }

    /// Frees the lock, and wakes a sleeper if it is time to. As soon as another thread can have taken it, this one does
    /// not touch it any more: that one may free the memory.
    ///
    /// # Safety
    /// The lock is held, and the caller gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        if S::PRIVATE {
            if !restartable::store_zero_if::<HELD>(&self.word) {
                free::<S>(&self.word);
            }
        } else if self.word.compare_exchange(HELD, 0, Release, Relaxed).is_err() {
            free::<S>(&self.word);
        }
    }

    /// Frees the lock for the one that has slept longest, if one sleeps: nobody else gets it before, unless that one
    /// doesn't come soon.
    ///
    /// # Safety
    /// The lock is held, and the caller gives up the right to it.
    pub unsafe fn unlock_fair(&self) {
        free_by::<S>(&self.word, handed_over);
    }

    /// Whether somebody holds the lock, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & HELD != 0
    }

    /// Whether this process releases locks of this scope by a plain store. That is decided when the object that contains
    /// the lock is loaded. It is false between processes, and where the C library or the kernel lacks restartable
    /// sequences. It becomes false if the kernel refuses `membarrier` later.
    #[cfg(not(loom))]
    pub fn frees_by_store() -> bool {
        S::PRIVATE && restartable::works()
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

    /// As a lock begins: what is reserved for a thread that has waited long stays so.
    #[inline]
    pub(crate) fn take_now(&self) -> bool {
        self.take() || self.take_quietly()
    }

    #[inline]
    fn take(&self) -> bool {
        self.word.compare_exchange(0, HELD, Acquire, Relaxed).is_ok()
    }

    fn take_quietly(&self) -> bool {
        let word = self.word.load(Relaxed);
        word & (HELD | RESERVED) == 0
            && self.word.compare_exchange(word, taken_quietly(word, cpu_hint), Acquire, Relaxed).is_ok()
    }

    /// A free lock that is reserved is left to whom it is reserved for, but only once: that one may not exist any more.
    #[cold]
    fn try_again(&self) -> bool {
        let word = self.word.load(Relaxed);
        if word & (HELD | RESERVED) == RESERVED {
            let _ = self.word.compare_exchange(word, word & !RESERVED, Relaxed, Relaxed);
        }
        false
    }

    nounwind_unless_loom! {
        /// When the lock was not free, or somebody waits, or waited lately. Apart, since a frame is stores, which the
        /// first atomic of `lock` would wait for.
        #[inline(never)]
        fn lock_again(&self) {
            if !self.take_quietly() {
                self.lock_by(None);
            }
        }
    }

    pub(crate) fn lock_by(&self, deadline: Option<Deadline>) -> bool {
        waiting::wait::<S>(&self.word, &self.counts, deadline)
    }
}

raw_mutex!([S: Scope, C: Count] Adaptive<S, C>, lock_api::GuardSend);
raw_mutex_timed!([S: Scope, C: Count] Adaptive<S, C>, lock_api::GuardSend);
raw_mutex_fair!([S: Scope, C: Count] Adaptive<S, C>);
