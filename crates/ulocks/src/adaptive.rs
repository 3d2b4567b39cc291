//! The lock to take when you don't want to choose.
//!
//! Uncontended it costs one atomic read-modify-write and one plain store, where other locks that can sleep cost two
//! read-modify-writes. Contended it spins while that can pay, sleeps otherwise, and lets nobody starve.
//!
//! # State
//! | `word` bits | name | meaning | changed by |
//! |---|---|---|---|
//! | 0 | `HELD` | somebody holds the lock | the taker; the holder |
//! | 1 | `FENCED` | the holder will free it by a read-modify-write | the taker; who frees a plain lock with waiters |
//! | 2 | `RESERVED` | only a spinner that has waited long may take it | that spinner, if held `FENCED`; the taker |
//! | 3..8 | `CREDIT` | how many more quiet acquisitions keep `FENCED` | the taker |
//! | 8..16 | `CPU` | a hint: where the holder was when it took the lock, plus one | the taker; the holder |
//! | 16..32 | `STAMP` | when a thread that had slept last took the lock, in units of about 10 µs | that thread |
//!
//! `0` is free and `HELD` alone is held: the *plain* lock, whose holder frees it by a plain store of 0.
//!
//! | `waiters` bits | name | meaning | changed by |
//! |---|---|---|---|
//! | 0..20 | `PARKED` | how many threads sleep, are about to, or have just been woken | each for itself |
//! | 20..31 | `SPINNER` | how many threads spin | each for itself |
//! | 31 | `WAKING` | a woken one has neither the lock nor looked again | the waker; whoever is parked and awake |
//!
//! # The unlock that is a plain store
//! A thread that frees a plain lock stores 0 to `word` and then loads `waiters`. A thread that wants to sleep adds
//! itself to `waiters` and then loads `word`. If both read old values, one sleeps and the other does not know. A fence
//! between store and load on *both* sides prevents that; the usual lock pays it on each unlock, in the form of a second
//! read-modify-write. Here the sleeper pays for both, by `membarrier` (see the asymmetric fence's own file for what the
//! kernel promises). Its call costs 0.4 µs alone and 9 µs when it must interrupt another CPU, beside a sleep
//! that costs more.
//!
//! A lock on which threads sleep often should not pay that each time. So a thread that has waited takes the lock as
//! `FENCED`, with a full `CREDIT`: the word then frees by a read-modify-write, and a sleeper that reads `FENCED` in the
//! held word needs no membarrier, because the holder that will free *this* word has a fence of its own. Each
//! acquisition that finds nobody waiting spends one credit, and the last makes the lock plain again. So a lock that is
//! hardly contended pays one atomic, one that is contended two, and the membarrier is paid at most once in 32
//! acquisitions.
//!
//! A plain store of 0 would overwrite what others wrote to `word` meanwhile, so nobody but the holder writes to a plain
//! word that is held. Whoever frees one and finds that somebody waits makes the free word `FENCED`.
//!
//! Where membarrier is missing (before Linux 4.14, or filtered by seccomp) a sleeper that meets a plain holder sleeps
//! for 1 ms at most, and the lock is `FENCED` from its next acquisition on. Between processes the light side is only
//! used by processes that are enrolled for `GLOBAL_EXPEDITED`; others take the lock as `FENCED` always.
//!
//! # Ordering
//! Taking is `Acquire`, freeing `Release`, on `word`. A plain store of 0 heads a new release sequence: it needs nothing
//! of the old one, because only the holder stores, and it has acquired everything before. The `FENCED` free and the
//! load of `waiters` after it, the change of `waiters` and the load of `word` after it are `SeqCst`.
//!
//! No wake-up is lost. A thread sleeps only if `waiters` still holds the value that it read after it had (1) announced
//! itself, or cleared `WAKING`, (2) fenced, and (3) seen `word` held. Call that holder's free F.
//! F comes after (3), so its load of `waiters` sees the announcement. If it finds neither `WAKING` nor a spinner it
//! sets `WAKING` and wakes: the sleeper's value has changed, or it sleeps and is woken. If it finds `WAKING`, set by an
//! earlier free, then some parked thread is awake which will clear it, fence and look again, after F, or take the lock
//! and free it later. If it finds a spinner, that spinner will take the lock and free it later, or park, which is (1)
//! to (3) again and after F. The one who leaves without the lock, a timed-out waiter, looks whether it was the last
//! who could have acted, and wakes another. By induction somebody acts while anybody sleeps and the lock is free.
//!
//! # Fairness
//! Bounded in time. A free lock may be taken by whoever finds it, so it is never idle while a woken thread finds its
//! CPU. But a waiter that has spun for a patience while others took the lock sets `RESERVED`, and the next free is its
//! own; so does a sleeper as soon as it has been woken. While somebody spins, sleepers are woken one at a time, the
//! longest first, once a *slice* of 0.3 to 2.5 ms, the shorter the more of them sleep. That is what limits the price:
//! between two handovers to a sleeper the lock stays among threads that run. A reservation whose owner is not running
//! is void once the lock has been seen free for a patience.
//!
//! # When it spins
//! For about as long as a wake costs (some 20 µs), not at all if the holder was last seen on this CPU, since then it is
//! not running: then it yields a few times, and sleeps. No more threads spin than there are CPUs, and of a crowd only
//! one; the rest sleep at once. That keeps the run queue short: where 100 threads are runnable on two CPUs, one that is
//! switched out while it waits comes back after a tenth of a second, whatever the lock does. A spinner that has seen no
//! change for its patience sleeps too: the holder holds long, or does not run.
//!
//! # A stopped or dead holder
//! Blocks everybody else. A stopped or dead *waiter* does not, for long: its reservation becomes void. In
//! [`Shared`](crate::Shared) scope a sleeper also looks for itself every 100 ms, so a wake that a killed process took
//! with it is only late.
//!
//! # What loom shows and does not
//! The model has the two words, the sleep, the reservation and `FENCED` in full, with both sides of the asymmetric
//! fence as `SeqCst` fences. It does not have membarrier itself, time (slices, patience), or CPUs.
//!
//! # Measured
//! On two virtual CPUs of an AMD EPYC (Zen 5) under Linux 6.18, in runs in which it took turns with the standard
//! library's mutex, parking_lot, pthread (default and adaptive), nsync and Abseil:
//!
//! - Uncontended lock and unlock take 5.3 to 6.3 ns, from C 6.1; the fastest of the others takes 10.2 to 11.0.
//! - With 2, 4, 8 and 100 children and 0+1, 0+10, 7+3 and 9+1 µs without and with the lock, it has 0.96 to 1.19 of the
//!   throughput of the best other lock of each cell. The coefficient of variation over 2 s was measured for 100
//!   children and for 8 at 0+1 and 0+10: 0.25 at most. The other cells were below that in runs of 0.2 s already.
//! - The longest wait is below 40 ms, except with 100 children that mostly work without the lock: 100 to 240 ms. There
//!   nearly all threads are runnable, the lock is mostly free, and a thread that the scheduler switches out while it
//!   waits for the lock comes back after a whole round of the run queue.
//!
//! The asymmetric unlock was kept because it halves the uncontended pair and the whole lock keeps up when contended.
//! What it costs there by itself, against this lock with two atomics, was not measured. `contend throughput` repeats
//! the comparison.
//!
//! # Source
//! The asymmetric fence: Dice, Huang and Yang, "Asymmetric Dekker Synchronization", Sun Labs, 2001, and membarrier(2).
//! The bounded unfairness: parking_lot's and WebKit's eventual fairness. Few threads that circulate while the rest
//! sleep: Dave Dice, "Malthusian Locks", EuroSys 2017. Not spinning behind a holder that does not run: Mutexee and
//! FlexGuard.

use crate::{
    asymmetric_fence as fence,
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
        between_seqcst, pause,
    },
    count::{Count, NoCount},
    cpu::{MOST_CPUS, coarse_now, cpu_hint, cpus},
    futex::{self, Deadline, Private, Scope, Wait},
};
use std::{marker::PhantomData, time::Duration};

const HELD: u32 = 1;
const FENCED: u32 = 1 << 1;
const RESERVED: u32 = 1 << 2;
const ONE_CREDIT: u32 = 1 << 3;
const CREDIT: u32 = 31 << 3;
const CPU: u32 = 0xff << 8;
const STAMP: u32 = 0xffff << 16;

const ONE_PARKED: u32 = 1;
const PARKED: u32 = (1 << 20) - 1;
const ONE_SPINNER: u32 = 1 << 20;
const SPINNERS: u32 = 0x7ff << 20;
/// The count has room for more spinners than are ever let in.
const _: () = assert!(MOST_CPUS * ONE_SPINNER < SPINNERS);
/// When more than this many sleep, only one spins.
const CROWD: u32 = 16;
const WAKING: u32 = 1 << 31;

/// How long to sleep where nothing can promise a wake.
const UNFENCED_SLEEP: Duration = Duration::from_millis(1);
const SHARED_SLEEP: Duration = Duration::from_millis(100);

/// The adaptive lock. 8 bytes.
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
    waiters: AtomicU32,
    counts: C,
    scope: PhantomData<S>,
}

const _: () = assert!(cfg!(loom) || size_of::<Adaptive>() == 8);

/// How a spin ended.
enum Spin {
    Taken,
    Park,
}

impl<S: Scope, C: Count> Adaptive<S, C> {
    const_unless_loom! {
        /// A free lock.
        pub fn new() -> Self {
            Adaptive {
                word: AtomicU32::new(0),
                waiters: AtomicU32::new(0),
                counts: C::ZERO,
                scope: PhantomData,
            }
        }
    }

    /// Takes the lock, waiting for it if it is held.
    #[inline]
    pub fn lock(&self) {
        if !self.take_plain() && !self.take_quietly() {
            self.lock_by(None);
        }
    }

    /// Takes the lock if it is free now, and not reserved for a thread that has waited long.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.take_plain() || self.take_quietly()
    }

    /// Frees the lock, and wakes a sleeper if it is time to.
    ///
    /// # Safety
    /// The lock is held, and the caller gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        let word = self.word.load(Relaxed);
        if word & FENCED != 0 {
            return self.unlock_fenced();
        }
        self.word.store(0, Release);
        fence::light();
        let waiters = self.waiters.load(Relaxed);
        if waiters != 0 {
            self.wake_if_due(word, waiters);
        }
    }

    /// Whether somebody holds the lock, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & HELD != 0
    }

    /// What happened on this lock, if it counts.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    #[inline]
    fn take_plain(&self) -> bool {
        let held = if fence::enrolled::<S>() { HELD } else { HELD | FENCED };
        self.word.compare_exchange(0, held, Acquire, Relaxed).is_ok()
    }

    /// Takes a lock that is free but not plain, at the price of a credit if nobody waits.
    fn take_quietly(&self) -> bool {
        let word = self.word.load(Relaxed);
        if word & (HELD | RESERVED) != 0 {
            return false;
        }
        // The word may have become plain since `take_plain` looked.
        let fenced = if fence::enrolled::<S>() { 0 } else { FENCED };
        let taken = if self.waiters.load(Relaxed) != 0 {
            word | HELD | fenced | cpu_hint() << 8
        } else if word & CREDIT != 0 {
            (word - ONE_CREDIT) | HELD | fenced
        } else {
            HELD | fenced
        };
        self.word.compare_exchange(word, taken, Acquire, Relaxed).is_ok()
    }

    /// Takes the lock after waiting: from now on it is `FENCED`. `ours` says that a reservation is the caller's, or
    /// void; `stamp`, if any, is a new one.
    fn take_late(&self, word: u32, ours: bool, stamp: Option<u32>) -> bool {
        if word & HELD != 0 || (word & RESERVED != 0 && !ours) {
            return false;
        }
        let stamp = stamp.map_or(word & STAMP, |now| now << 16);
        let taken = HELD | FENCED | CREDIT | cpu_hint() << 8 | stamp;
        self.word.compare_exchange(word, taken, Acquire, Relaxed).is_ok()
    }

    fn unlock_fenced(&self) {
        let word = self.word.fetch_and(!(HELD | CPU), SeqCst);
        between_seqcst();
        let waiters = self.waiters.load(SeqCst);
        if waiters != 0 {
            self.wake_if_due(word, waiters);
        }
    }

    /// Called with the lock just freed, its word before that, and whoever waits.
    #[cold]
    fn wake_if_due(&self, word: u32, waiters: u32) {
        let parked = waiters & PARKED;
        let now = coarse_now();
        if word & FENCED == 0 {
            self.restamp(now);
        }
        if parked == 0 {
            return;
        }
        let age = (now & 0xffff).wrapping_sub(word >> 16) & 0xffff;
        let due = age >= slice(parked);
        if waiters & (SPINNERS | WAKING) == 0 || due {
            self.restamp(now);
            self.wake(due);
        }
    }

    /// Starts a new slice; a plain lock that is free becomes a `FENCED` one. If somebody else changes the word at the
    /// same time, this is not worth another try.
    fn restamp(&self, now: u32) {
        let word = self.word.load(Relaxed);
        if word == 0 || word & FENCED != 0 {
            let stamped = word & !STAMP | FENCED | CREDIT | now << 16;
            let _ = self.word.compare_exchange(word, stamped, Relaxed, Relaxed);
        }
    }

    /// Wakes the one that has slept longest, unless one is being woken and one is enough. `WAKING` is set only while
    /// somebody is parked, who will clear it.
    fn wake(&self, one_more: bool) {
        let mut waiters = self.waiters.load(SeqCst);
        while waiters & PARKED != 0 {
            match self.waiters.compare_exchange_weak(waiters, waiters | WAKING, SeqCst, SeqCst) {
                Ok(_) if waiters & WAKING == 0 || one_more => {
                    futex::wake::<S>(&self.waiters, 1, futex::ALL);
                    return;
                }
                Ok(_) => return,
                Err(now) => waiters = now,
            }
        }
    }

    #[cold]
    fn lock_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.write_contended();
        if may_spin(self.waiters.load(Relaxed)) {
            self.waiters.fetch_add(ONE_SPINNER, SeqCst);
            let spun = self.spin(false);
            if let Spin::Taken = spun {
                self.waiters.fetch_sub(ONE_SPINNER, Relaxed);
                self.counts.spun();
                return true;
            }
            self.waiters.fetch_add(ONE_PARKED.wrapping_sub(ONE_SPINNER), SeqCst);
        } else {
            self.waiters.fetch_add(ONE_PARKED, SeqCst);
        }
        self.park(deadline)
    }

    /// Sleeps until the lock is taken or the deadline has passed. The caller is counted as parked, and is not after.
    fn park(&self, deadline: Option<Deadline>) -> bool {
        loop {
            let Some(sleep_at_most) = self.look_again() else {
                return true;
            };
            let waiters = self.waiters.load(SeqCst);
            if waiters & WAKING != 0 {
                // Either this thread is the one that was woken, or it is awake as well as that one: see to it.
                self.waiters.fetch_and(!WAKING, SeqCst);
                continue;
            }
            self.counts.slept();
            let ended = futex::wait::<S>(&self.waiters, waiters, futex::ALL, futex::sooner(deadline, sleep_at_most));
            if ended == Wait::TimedOut && deadline.is_some_and(|deadline| deadline.passed()) {
                self.give_up();
                return false;
            }
            if let Spin::Taken = self.spin(true) {
                self.leave_parked();
                return true;
            }
            self.waiters.fetch_and(!WAKING, SeqCst);
        }
    }

    /// After a change of `waiters` and before sleeping: fences, then takes the lock if it is free (`None`), or says
    /// how long it may be slept for (`Some(None)`: until woken).
    fn look_again(&self) -> Option<Option<Duration>> {
        let mut promised = true;
        loop {
            between_seqcst();
            let mut word = self.word.load(SeqCst);
            if word & (HELD | FENCED) == HELD {
                promised = fence::heavy::<S>();
                word = self.word.load(SeqCst);
            }
            if self.take_late(word, false, Some(coarse_now())) {
                self.leave_parked();
                return None;
            }
            // Held, or reserved for a thread that is awake: its free comes after this look.
            if word & (HELD | RESERVED) != 0 {
                return Some(if !promised {
                    Some(UNFENCED_SLEEP)
                } else if S::PRIVATE {
                    None
                } else {
                    Some(SHARED_SLEEP)
                });
            }
        }
    }

    /// No longer parked, but the holder: whoever sleeps now is woken when it frees the lock.
    fn leave_parked(&self) {
        let waiters = self.waiters.fetch_sub(ONE_PARKED, Relaxed);
        if waiters & WAKING != 0 {
            self.waiters.fetch_and(!WAKING, Relaxed);
        }
    }

    /// Leaves without the lock. A waker may have counted on this thread, so it looks whether another must be woken.
    fn give_up(&self) {
        self.waiters.fetch_sub(ONE_PARKED, SeqCst);
        self.waiters.fetch_and(!WAKING, SeqCst);
        between_seqcst();
        if self.word.load(SeqCst) & HELD == 0 {
            self.wake(false);
        }
    }
}

/// Whether one more may spin: as many as there are CPUs, of a crowd only one.
///
/// A spinner that the scheduler has switched out still counts. So where threads outnumber CPUs the next ones that find
/// the lock held go to sleep, fewer compete for the CPU, and one that was switched out is back sooner: a switched-out
/// waiter waits for all that are runnable, a sleeping one only for its turn.
fn may_spin(waiters: u32) -> bool {
    let most = if waiters & PARKED > CROWD { 1 } else { cpus() };
    waiters & SPINNERS < most * ONE_SPINNER
}

/// How long sleepers wait while others circulate, in units of about 10 µs: short enough for everybody's turn to come
/// within some 40 ms, long enough that handing over costs a few per cent.
fn slice(parked: u32) -> u32 {
    (3000 / parked).clamp(24, 200)
}

/// When and how long to spin.
#[cfg(not(loom))]
mod spinning {
    use super::*;
    use crate::atomic::give_way;

    /// How long a spin without success lasts, and how long one with a reservation does: in units of about 10 µs.
    const PATIENCE: u32 = 3;
    const PATIENCE_RESERVED: u32 = 20;
    /// Rounds of a spin, of some 120 ns each, after which it gives the CPU to whoever else can run, as long as nobody
    /// sleeps: nobody sleeping does not mean that nobody is kept waiting by the scheduler.
    const ROUNDS: u32 = 12;
    /// How often to yield to a holder that was last seen on this CPU, before sleeping; and how often after having
    /// slept, since sleeping again means the end of the line.
    const YIELDS: u32 = 8;
    const YIELDS_WOKEN: u32 = 100;
    impl<S: Scope, C: Count> Adaptive<S, C> {
        /// Spins while it can pay. `woken` says that the caller has slept: it reserves the lock at once.
        pub(super) fn spin(&self, woken: bool) -> Spin {
            let start = coarse_now();
            let stamp = woken.then_some(start);
            let mut seen = self.word.load(Relaxed);
            let (mut changed, mut reserved, mut yields) = (woken, false, 0);
            // One that was woken waits for another's reservation to pass; one that was not goes to sleep then.
            let (patience, mut until, most_yields) =
                if woken { (0, PATIENCE_RESERVED, YIELDS_WOKEN) } else { (PATIENCE, PATIENCE + 1, YIELDS) };
            let mut free_since = None;
            let mut rounds = 0;
            loop {
                let word = self.word.load(Relaxed);
                let age = coarse_now().wrapping_sub(start);
                reserved &= word & RESERVED != 0;
                let void = free_since.is_some_and(|since: u32| age.wrapping_sub(since) > PATIENCE);
                if word & HELD == 0 && self.take_late(word, reserved || void, stamp) {
                    return Spin::Taken;
                }
                free_since = if word & HELD == 0 { free_since.or(Some(age)) } else { None };
                changed |= word != seen;
                seen = word;
                if word & HELD == 0 {
                    // Reserved for a thread that is not running, or it would have taken it: perhaps this CPU is its.
                    give_way();
                } else if !reserved && changed && age >= patience && self.reserve(word) {
                    reserved = true;
                    until = age + PATIENCE_RESERVED;
                } else if word & CPU != 0 && (word & CPU) >> 8 == cpu_hint() {
                    if yields == most_yields {
                        return self.stop(reserved);
                    }
                    yields += 1;
                    give_way();
                } else if age >= until {
                    return self.stop(reserved);
                }
                rounds += 1;
                self.pass_time(rounds);
            }
        }

        #[inline(always)]
        fn pass_time(&self, rounds: u32) {
            if rounds > ROUNDS && self.waiters.load(Relaxed) & PARKED == 0 {
                give_way();
            } else {
                (0..4).for_each(|_| pause());
            }
        }
    }
}

/// In a model the length of a spin proves nothing: one try, and for a woken thread one with a reservation.
#[cfg(loom)]
impl<S: Scope, C: Count> Adaptive<S, C> {
    fn spin(&self, woken: bool) -> Spin {
        let word = self.word.load(Relaxed);
        if self.take_late(word, false, None) {
            return Spin::Taken;
        }
        let reserved = woken && self.reserve(word);
        if reserved {
            pause();
            if self.take_late(self.word.load(Relaxed), true, None) {
                return Spin::Taken;
            }
        }
        self.stop(reserved)
    }
}

impl<S: Scope, C: Count> Adaptive<S, C> {
    /// Asks for the next free to be for this thread. Nobody else may have asked, and the lock must be held by one who
    /// does not free it by a plain store.
    fn reserve(&self, word: u32) -> bool {
        word & (HELD | FENCED | RESERVED) == HELD | FENCED
            && self.word.compare_exchange(word, word | RESERVED, Relaxed, Relaxed).is_ok()
    }

    /// Ends a spin without the lock.
    fn stop(&self, reserved: bool) -> Spin {
        let mut word = self.word.load(Relaxed);
        // It may have been void meanwhile, and this one be another's. That one asks again.
        while reserved && word & RESERVED != 0 {
            match self.word.compare_exchange_weak(word, word & !RESERVED, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        Spin::Park
    }
}

raw_mutex!([S: Scope, C: Count] Adaptive<S, C>, lock_api::GuardSend);
raw_mutex_timed!([S: Scope, C: Count] Adaptive<S, C>, lock_api::GuardSend);
