//! A general-purpose mutex: the default choice in this crate.
//!
//! The lock is one 32-bit word. An uncontended lock/unlock pair costs one atomic read-modify-write and one plain store;
//! other locks that can block need two read-modify-writes. The releasing store is the last memory access of
//! [`unlock`](Adaptive::unlock), so the next owner may free the memory. Under contention, one waiter spins, and the
//! others block. Blocked threads get the lock in turn, each after a bounded time.
//!
//! # State
//!
//! | bits of `word` | name | meaning | written by |
//! |---|---|---|---|
//! | 0 | `HELD` | the lock is held | the acquiring thread; the holder |
//! | 1 | `WAITERS` | threads may be blocked; `unlock` must check | a thread that blocks or has blocked; the holder |
//! | 2 | `RESERVED` | only a thread that has blocked, or that has made the reservation, may acquire the lock | a spinner that has waited long, or a woken thread; the holder; the acquiring thread |
//! | 3..7 | `AWAKE` | a spinner of this fork generation, or a woken thread, will acquire the lock or clear the field; the larger values say which, and count wake-ups without a response | that thread; the holder |
//! | 7..15 | `CPU` | hint: CPU on which the lock was acquired last under contention, plus one | the acquiring thread |
//! | 15..32 | `STAMP` | when a blocked thread was last served, in ~10 µs | the holder; a thread that blocks first, or has blocked |
//!
//! A word of `0` is unlocked. A word of exactly `HELD` is *plain-held*: its holder releases it with a plain store of 0. A
//! reservation is *void* once a thread has seen the lock unlocked for the spin limit: its owner does not run. While one
//! thread acquires and releases a lock with `WAITERS`, the word changes only in `HELD`, so that others can block: the
//! kernel compares the whole word. `STAMP` wraps around after a second or so, and may then delay one hand-off by a slice.
//!
//! # Release by a plain store
//!
//! The fast path of `unlock` is a restartable sequence (rseq): if the word is exactly `HELD`, store 0. The source file
//! of the sequence states what the kernel guarantees. If the sequence is aborted, or finds any other value, it stores
//! nothing, and the lock is released by compare-and-swap.
//!
//! A thread that wants to block on a plain-held lock therefore (1) sets `WAITERS` by compare-and-swap, (2) issues the
//! membarrier that restarts such sequences on all CPUs, and (3) reads the word again. If `WAITERS` is still set, no
//! holder can overwrite it any more. The flag then stays until four or five wake-ups in more than 1 ms found no thread, so a lock on
//! which threads often block seldom pays for the membarrier. A thread that only spins sets no flag. Its reservation may
//! be erased by a plain store, and it makes another.
//!
//! Process-shared locks ([`Shared`](crate::Shared)), and all locks on systems without usable restartable sequences,
//! are released by compare-and-swap. This costs a second atomic operation and changes nothing else.
//!
//! # Memory ordering
//!
//! Acquisition is `Acquire` and release is `Release`, on a single word. There is no second word, and hence no fence
//! except the membarrier.
//!
//! **No wake-up is lost.** A thread is *responsible* from the moment it sets a flag in the word, or is woken, until it
//! acquires the lock with `WAITERS` set, blocks, or gives up. For each blocked thread, one of the following holds:
//!
//! 1. The word is held with `WAITERS`, the holder will not overwrite it with a plain store, and `AWAKE` identifies no
//!    thread. The holder's `unlock` then wakes a blocked thread, which becomes responsible.
//! 2. As 1, but `AWAKE` identifies a spinning thread. When that thread acquires the lock, blocks or gives up, it
//!    clears `AWAKE` and leaves `WAITERS` set; case 1 then applies.
//! 3. Another thread is responsible. If it finds the lock free, it acquires it with `WAITERS` set. If the lock is
//!    held, it sets `WAITERS` before it blocks; if a plain store erased the flag, the thread notices after the
//!    membarrier and sets it again. If it gives up, it leaves the flag set, or wakes another thread, which becomes
//!    responsible.
//!
//! Any thread may clear `AWAKE` at any time; the cost is a superfluous wake-up. A wake-up may have found no thread, so a
//! thread that blocks never relies on a woken one: it clears that mark.
//!
//! # Lifetime
//!
//! The last holder may free the memory while an earlier holder is still inside `unlock`. After the releasing store or
//! compare-and-swap, that earlier holder at most passes the *address* of the word to the kernel to wake a waiter. If
//! the memory has been reused by then, a thread blocked on the new word may be woken spuriously, which every futex
//! user must tolerate.
//!
//! # Fairness
//!
//! A release with `WAITERS` wakes the thread that blocked first, unless a spinner or a woken thread is awake. Once a
//! *slice* (about 0.3 ms) has passed since a blocked thread was served, a release also reserves the lock for the thread
//! that it wakes: a *hand-off*, after which no arriving thread acquires the lock first. With sections longer than a slice,
//! each release hands the lock off. If two slices have passed, the last section was long, and the lock is left to the
//! woken thread for as long as the scheduler may take: arriving threads block for 4 ms at most. A woken thread that finds the lock held
//! reserves it after the spin limit, or when it blocks again, and is the next to be woken. Other threads must not acquire a
//! reserved lock, also those that the kernel has refused to block.
//!
//! So a blocked thread that the kernel runs whenever it is woken waits for at most one slice and one critical section for
//! each thread that blocked before it. A thread that the kernel runs too late (some 30 µs after the lock was unlocked, or
//! 4 ms after long sections) loses that turn and gets the next one. Priorities do not count: [`Pi`](crate::Pi) is the lock for them.
//!
//! # Spinning
//!
//! A waiter spins for about the cost of a wake-up (the spin limit, some 40 µs). It reads the word every 0.1 µs at first,
//! then at growing distances, since each read takes the cache line from the holder. If threads are blocked, only one
//! thread spins for long. A spinner that saw the lock change hands within the spin limit reserves the next release. A
//! waiter does not spin if the holder was last seen on its own CPU, because the holder cannot be running then: it yields a
//! few times and blocks. A waiter with a deadline does not yield, and looks at the deadline while it spins.
//!
//! # Fork, and stopped or terminated threads
//!
//! A child process may use every lock that its only thread holds, and every lock that no thread held. It inherits the
//! flags of the parent's waiters, which cost some wake-ups that find no thread; a spinner of another fork generation
//! counts as none. (Generations repeat after 10 nested forks, so no lock may stay held and contended through them.) A
//! child of `vfork` or of a bare `clone` must not use private locks.
//!
//! A holder that is stopped or dies blocks all others. A *waiter* that is stopped or dies, at any instruction, delays them
//! only briefly: its reservation expires, and its wake-up is repeated after a slice. In [`Shared`](crate::Shared) scope, a
//! blocked waiter also re-checks the word after 10 ms, and after twice the time with each check, up to a second, so a
//! wake-up lost with a killed process only delays it.
//!
//! # Verification
//!
//! `model.rs` examines every order of the steps of two and three threads over these transitions, with timeouts, signals
//! and aborted sequences: exclusion, and that no thread waits forever. The loom model also covers the memory orderings,
//! with a bounded number of preemptions. Neither has time, CPUs or forks, which tests with threads and processes have.
//! `docs/restartable-unlock.md` contains the full argument for the release, and another model of it.
//!
//! # References
//!
//! The restartable unlock is original to this crate. It builds on rseq(2) and membarrier(2) by Paul Turner and Mathieu
//! Desnoyers, and on musl's lock, which does not access memory after release. A hand-off after some time: eventual
//! fairness in WebKit's lock and in parking_lot up to 0.12. Few circulating threads while the others block: Dave Dice,
//! "Malthusian Locks", EuroSys 2017. No spinning behind a holder that does not run: Mutexee and FlexGuard.

#[macro_use]
mod nounwind;
mod freeing;
mod generation;
#[cfg(all(test, not(loom)))]
mod model;
mod spinning;
mod waiting;
mod word;

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    count::{Count, NoCount},
    cpu::{coarse_now, cpu_hint},
    futex::{Deadline, Private, Scope},
    restartable,
};
use core::marker::PhantomData;
use freeing::{free, free_by};
use word::{HELD, Past, RESERVED, handed_off};

/// A general-purpose mutex of 4 bytes.
///
/// An uncontended lock/unlock pair on a private lock costs one atomic instruction and one plain store. Under
/// contention, one waiter spins and the others block; blocked threads get the lock in turn, at the latest with the first
/// release after 0.3 ms for each of them. The thread that acquires the lock last may free its memory.
///
/// - **fork**: a child can use a lock that its thread held or that no thread held. Locks that other threads held stay
///   held.
/// - **vfork**, bare `clone`: the child must not use a private lock.
/// - **dlclose**: a plugin that contains the lock can be unloaded once no thread runs its code or waits for the lock.
/// - **signal handlers**: may call [`try_lock`](Self::try_lock) and [`unlock`](Self::unlock).
/// - **spurious failure**: [`try_lock`](Self::try_lock) can fail on an unlocked lock that is reserved for a waiter.
/// - **timeouts**: a timed acquisition neither yields nor spins past its deadline; how late it returns is up to the kernel,
///   which must run it.
/// - **membarrier**: a thread that is about to block on a lock without recent waiters interrupts the other CPUs that
///   run threads of this process, for some microseconds.
/// - **dead holder**: a lock whose owner ended stays held; [`Robust`](crate::Robust) is the lock for owners that may
///   die.
///
/// The [crate's documentation](crate) has the details.
///
/// # Examples
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
        /// Returns an unlocked lock.
        pub fn new() -> Self {
            Adaptive { word: AtomicU32::new(0), counts: C::ZERO, scope: PhantomData }
        }
    }

    /// Acquires the lock, and waits if it is held.
    #[inline]
    pub fn lock(&self) {
        if self.word.compare_exchange(0, HELD, Acquire, Relaxed).is_err() {
            self.lock_again();
        }
    }

    /// Acquires the lock if it is unlocked now and not reserved for a thread that has waited long.
    ///
    /// It can therefore fail although no thread holds the lock, while other threads wait for it or have just waited.
    /// A failure on a reservation cancels it, so a thread that retries acquires a lock that stays unlocked.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.take_now() || self.try_again()
    }

    /// Releases the lock, and wakes a blocked waiter if that is due.
    ///
    /// The releasing store is the last access to the memory of the lock, so the next owner may free it.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        let is_free = if S::PRIVATE {
            restartable::free_if::<HELD>(&self.word)
        } else {
            self.word.compare_exchange(HELD, 0, Release, Relaxed).is_ok()
        };
        if !is_free {
            free::<S>(&self.word);
        }
    }

    /// Releases the lock and hands it off to the blocked thread that is next, if there is one.
    ///
    /// No other thread acquires the lock first, unless that waiter does not come soon.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and gives up the right to it.
    pub unsafe fn unlock_fair(&self) {
        free_by::<S>(&self.word, handed_off);
    }

    /// Returns whether a thread holds the lock at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & HELD != 0
    }

    /// Returns whether this process releases locks of this scope by a plain store.
    ///
    /// The constructor of the object that contains the lock decides that when the object is loaded. The result is
    /// `false` for process-shared locks, and where the C library or the kernel lacks restartable sequences. It
    /// becomes `false` if the kernel refuses `membarrier` later.
    #[cfg(not(loom))]
    pub fn frees_by_store() -> bool {
        S::PRIVATE && restartable::works()
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

    /// Acquires the lock without waiting, and respects a reservation.
    #[inline]
    pub(crate) fn take_now(&self) -> bool {
        self.word.compare_exchange(0, HELD, Acquire, Relaxed).is_ok() || self.take_quietly()
    }

    /// Acquires a lock that threads wait for, or waited for recently, as one that has not waited.
    fn take_quietly(&self) -> bool {
        let word = self.word.load(Relaxed);
        Past::NONE.may_take(word, false) && {
            let taken = Past::NONE.taken(word, generation::awake::<S>(), cpu_hint(), coarse_now);
            self.word.compare_exchange(word, taken, Acquire, Relaxed).is_ok()
        }
    }

    /// Cancels the reservation of an unlocked lock: `try_lock` respects it only once, since the reserving thread may
    /// not exist any more.
    #[cold]
    fn try_again(&self) -> bool {
        let word = self.word.load(Relaxed);
        if word & (HELD | RESERVED) == RESERVED {
            let _ = self.word.compare_exchange(word, word & !RESERVED, Relaxed, Relaxed);
        }
        false
    }

    nounwind_unless_loom! {
        /// Acquires the lock if it was not unlocked.
        ///
        /// It is a separate function because the stores of a stack frame would delay the first atomic operation of
        /// `lock`.
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
raw_mutex_timed!([S: Scope, C: Count] Adaptive<S, C>, lock_api::GuardSend, Self::take_now);
raw_mutex_fair!([S: Scope, C: Count] Adaptive<S, C>);
