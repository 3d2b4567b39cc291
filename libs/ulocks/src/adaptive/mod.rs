//! A general-purpose mutex: the default choice in this crate.
//!
//! The lock is one 32-bit word. An uncontended lock/unlock pair costs one atomic read-modify-write and one plain
//! store; other locks that can block need two read-modify-writes. The releasing store is the last memory access of
//! [`unlock`](Adaptive::unlock), so the next owner may free the memory. Under contention, waiters spin while that can
//! pay off and block otherwise. A waiter that the kernel runs in time does not starve.
//!
//! # State
//!
//! | bits of `word` | name | meaning | written by |
//! |---|---|---|---|
//! | 0 | `HELD` | the lock is held | the acquiring thread; the holder |
//! | 1 | `WAITERS` | threads may be blocked; `unlock` must check | a thread that blocks, has blocked or has yielded; the holder |
//! | 2 | `RESERVED` | only a spinner that has waited long, or a woken thread, may acquire the lock | that spinner; the holder; the acquiring thread |
//! | 3..7 | `CREDIT` | releases without waiters that are still to be read-modify-writes; with `WAITERS`, its lowest bit is set if the last acquirer had waited | acquirer; holder; a waiter that probes |
//! | 7..9 | `SLICE` | how long blocked waiters wait to be served; 0 is longest | thread that has blocked or yielded; holder |
//! | 9 | `WAKING` | a woken waiter has neither acquired the lock nor blocked again | the holder; the woken waiter |
//! | 10..14 | `AWAKE` | a spinner of this fork generation will acquire the lock or clear the field | that spinner |
//! | 14..22 | `CPU` | hint: CPU on which the lock was acquired last under contention, plus one | the acquiring thread |
//! | 22..32 | `STAMP` | when a blocked waiter was last served, in ~10 µs | the waker; a thread that has blocked or yielded |
//!
//! A word of `0` is unlocked. A word of exactly `HELD` is *plain-held*: its holder releases it with a plain store of 0.
//! A word without `WAITERS` and with a credit of at most three is *quiet*: no thread is blocked, or was lately. A
//! reservation is *void* once a thread has seen the lock unlocked for the spin limit: its owner does not run, and any
//! thread may acquire the lock.
//!
//! An unlocked word with `WAITERS` is sound only while some thread is responsible for the blocked ones: see *No wake-up is
//! lost* below. `STAMP` wraps around after 10 to 16 ms: a release that comes later than that can wait for one more slice.
//!
//! # Acquisition by one bit
//!
//! `lock` sets `HELD` by `fetch_or`, whatever the other bits are. If `HELD` was clear, the thread holds the lock. If
//! the word is then reserved for another thread, it releases the lock and waits. A compare-and-swap would need the
//! value of the flags: one that expects 0 fails while threads wait, and a read before it costs two transfers of the
//! cache line from another CPU instead of one.
//!
//! While threads are blocked, a thread that acquires and releases the lock repeatedly leaves all other bits as they
//! are. Another thread can then block: the kernel compares the whole word with the value that the thread read before
//! the system call. A word that changed with each acquisition made three of four attempts to block fail with four
//! threads and empty sections on two CPUs, and each of these threads then reserved the lock instead.
//!
//! # Release by a plain store
//!
//! The fast path of `unlock` is a restartable sequence (rseq): if the word is exactly `HELD`, store 0. The source file
//! of the sequence states what the kernel guarantees. If the sequence is aborted, or finds any other value, it stores
//! nothing, and the lock is released by compare-and-swap.
//!
//! A thread that wants to block on a plain-held lock therefore (1) sets `WAITERS` by compare-and-swap, (2) issues the
//! membarrier that restarts such sequences on all CPUs, and (3) reads the word again. If `WAITERS` is still set, no
//! holder can overwrite it any more.
//!
//! A membarrier costs 0.4 µs if no other CPU has to be interrupted, and about 9 µs otherwise. Locks on which threads
//! often block must not pay that on each wait. A thread that has waited therefore acquires the lock with the maximum
//! `CREDIT`. While more than three of it remain, the lock is released by compare-and-swap, which cannot overwrite a
//! flag, and waiters need no membarrier. Each release that finds no waiters consumes one credit; after the last one the
//! lock can be plain-held again. A waiter that *probes* a plain-held lock gives it a credit of three, so that the
//! holder measures its iterations: `pace.rs`. The holder may already have compared the word, so its store can erase
//! that credit. A thread that wants to block therefore needs the membarrier up to a credit of three.
//!
//! A spinner leaves a plain-held lock plain: no thread blocks on it, so the spinner sets no flag. It reads the word
//! rarely if iterations are short, because each read takes the cache line from the holder, and it acquires the lock
//! plain-held. It sets only `RESERVED` and the credit of a probe. A plain store may erase both, and the spinner then
//! reserves the lock again.
//!
//! Process-shared locks ([`Shared`](crate::Shared)), and all locks on systems without usable restartable sequences,
//! are always released by compare-and-swap. This costs a second atomic operation and changes nothing else.
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
//! Any thread may clear `AWAKE` or `WAKING` at any time; the cost is a superfluous wake-up. `WAKING` only suppresses
//! wake-ups, and every thread clears it before it blocks, so it never stands for less than one responsible thread.
//!
//! # Lifetime
//!
//! The last holder may free the memory while an earlier holder is still inside `unlock`. After the releasing store or
//! compare-and-swap, that earlier holder at most passes the *address* of the word to the kernel to wake a waiter. If
//! the memory has been reused by then, a thread blocked on the new word may be woken spuriously, which every futex
//! user must tolerate.
//!
//! # Fork
//!
//! A child process may use every lock that its only thread holds, and every lock that no thread held, regardless of
//! how many threads of the parent were waiting for it. There is one exception: a thread that arrives at a reserved lock
//! holds it for the few instructions until it has given it back, and is a holder in a child that was forked then. The
//! child inherits their flags: `WAITERS` costs some wake-ups
//! that find no thread. `AWAKE` contains the fork generation and is ignored in any other generation. (Generation
//! numbers repeat after 15 nested forks, so no lock may stay held and contended through 15 generations.) A reservation
//! expires after the spin limit, and the first `try_lock` that fails because of it cancels it. A lock held by another
//! thread of the parent stays held forever, as in POSIX. A child of `vfork` or of a bare `clone` must not use private
//! locks.
//!
//! # Fairness
//!
//! Blocked waiters are served in turn; a thread that arrives or spins can overtake them. No bound of the waiting time is
//! proven: a woken waiter that does not run before its reservation expires blocks again, and is the next to be woken,
//! once. An unlocked lock without a reservation may be acquired by any thread (barging). A waiter that has spun for the
//! spin limit and saw others acquire the lock sets `RESERVED`, and the next release is for it alone; a blocked waiter
//! does the same as soon as it has been woken. While threads are blocked, an arriving waiter spins for some 0.2 ms
//! before it reserves the lock, so that fewer acquisitions pass over the blocked ones. A waiter with a deadline, or for
//! a lock between processes, does not.
//!
//! A lock whose last acquirer did not wait is *promptly acquired*. If threads are blocked on it, an arriving thread
//! yields its CPU up to seven times before it spins or blocks. So all threads that can run do so one after another.
//! While no thread spins, a further blocked one is woken some 0.1 ms after the last (20 µs where sections are short),
//! though that one has not run. A thread that acquired the lock after such a yield keeps `WAITERS`. The head of
//! `rotation.rs` has the reason, and says when threads do not yield. Those with a deadline never do, nor those of a
//! lock between processes. Where sections are short (short iterations: `pace.rs`), a thread that finds the lock
//! promptly acquired leaves it so, unless it has blocked or spins; it reads the word only once before it yields. Such a
//! lock is soon one without blocked threads. Threads go on to yield on it for a while, up to 30 times, and acquire it
//! plain-held.
//!
//! While a thread spins, the lock is handed off to blocked waiters one at a time, in the order in which they blocked, at
//! most once per *slice* of 0.3 to 3 ms: the release that is due reserves the lock for the thread that it wakes, and the
//! lock is idle until that thread runs. The slice limits the cost of fairness: between two handoffs, the lock stays
//! among running threads. A release reads the clock for that if no thread spins or has been woken, and otherwise one of
//! about 16, at random. A waiter that was blocked for more than about 500 units of `STAMP` (5 to 8 ms) sets the shortest
//! slice; one that was blocked for less than a quarter of that doubles it, as does a wake-up to which no thread
//! responded. The next wake-up after such a one reserves the lock only if the slice is the shortest. A reservation whose
//! owner does not run expires once the lock has been seen unlocked for the spin limit. A waiter that had announced that
//! it blocks, and did not, may take it as well.
//!
//! Priorities do not count: a waiter of real-time priority is woken after one that was woken in vain.
//! [`Pi`](crate::Pi) is the lock for them.
//!
//! # Spinning
//!
//! A waiter spins for about the cost of a wake-up (the spin limit, some 40 µs), and longer where threads are blocked and
//! the lock changes hands. It reads the word every 0.1 µs at first, then at distances that grow to some 3 µs, since each
//! read costs the holder a transfer of the cache line. On a plain-held lock it reads the word often or seldom, by
//! whether the iterations of the lock were long or short lately: `pace.rs`. It does not spin if the holder was last seen
//! on the waiter's own CPU, because the holder cannot be running then; it yields a few times and blocks. Only one thread
//! spins at a time. Unless they yield, other arriving threads spin for a few µs or, if there are many, block
//! immediately. This keeps the run queue short: with 100 runnable threads on two CPUs, a thread that is descheduled
//! while waiting runs again after a tenth of a second, regardless of the lock. A spinner that has seen no change for
//! the spin limit also blocks: the critical section is long, or the holder does not run.
//!
//! # Stopped or terminated threads
//!
//! A holder that is stopped or dies blocks all others. A *waiter* that is stopped or dies delays them only briefly: its
//! reservation expires, and its flags are consumed; a lock without waiters is plain-held again after about 10 ms of use
//! and some 80 to 1,000 releases. (A waiter that is stopped or dies within the few instructions in which it gives a
//! reserved lock back is a stopped or dead holder.) In [`Shared`](crate::Shared) scope, a blocked waiter also re-checks
//! the word every 100 ms, so a wake-up lost with a killed process only delays it.
//!
//! # Verification
//!
//! The loom model has the word, blocking, reservations by waiters and by holders, and credit, and models the
//! restartable sequence with its membarrier as the kernel documents them: an abort can occur at any step. It covers all
//! executions of up to three contending threads with a bounded number of preemptions (`.ci/models` has the bounds), and
//! a spin of at most two attempts. Every second thread probes. Three deliberately wrong variants of that pair must each
//! fail in the model. The model does not cover time (when a slice is over, spin limit, a reservation that expires),
//! yields, CPUs, forks, or a kernel that refuses membarrier. Tests with threads and processes have these.
//! `docs/restartable-unlock.md` contains the full argument, a second model, and measurements.
//!
//! # References
//!
//! The restartable unlock is original to this crate. It builds on rseq(2) and membarrier(2) by Paul Turner and Mathieu
//! Desnoyers, and on musl's lock, which does not access memory after release. Bounded unfairness: eventual fairness in
//! parking_lot and WebKit. Few circulating threads while the others block: Dave Dice, "Malthusian Locks", EuroSys
//! 2017. Yields before blocking: parking_lot. No spinning behind a holder that does not run: Mutexee and FlexGuard.

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
/// contention, a waiter spins while that can pay off, then blocks; waiters are served in turn, though other threads can
/// overtake them. The thread that acquires the lock last may free its memory.
///
/// - **fork**: a child can use a lock that its thread held or that no thread held. Locks that other threads held stay
///   held.
/// - **vfork**, bare `clone`: the child must not use a private lock.
/// - **dlclose**: a plugin that contains the lock can be unloaded once no thread runs its code or waits for the lock.
/// - **signal handlers**: may call [`try_lock`](Self::try_lock) and [`unlock`](Self::unlock).
/// - **spurious failure**: [`try_lock`](Self::try_lock) can fail on an unlocked lock that is reserved for a waiter; a timed
///   acquisition takes until the reservation expires (about 50 µs), also past its deadline.
/// - **short timeouts**: a timed acquisition looks at its deadline when it blocks, not while it spins, and so can take
///   some 50 µs longer, or 0.3 ms if the lock is reserved.
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
