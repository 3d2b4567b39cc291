//! Blocking and waking for the locks, and for condition variables: the only interface to the kernel.
//!
//! It corresponds to the locks' own interface, with two differences. No call sets `errno`, which the C library's
//! mutexes do not change. A deadline has its clock, so that one of the calendar's clock moves with it when that is set.

use crate::c::{self, CLOCK_MONOTONIC, CLOCK_REALTIME, Timespec};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};
use std::fmt::Debug;
use std::time::Duration;

/// The users of a lock.
pub trait Scope: Debug + Copy + Send + Sync + 'static {
    /// Whether only the threads of one process use it.
    const PRIVATE: bool;
}

/// Used by the threads of one process.
#[derive(Clone, Copy, Debug)]
pub struct Private;

impl Scope for Private {
    const PRIVATE: bool = true;
}

/// Used by all threads that have the memory, also those of other processes.
#[derive(Clone, Copy, Debug)]
pub struct Shared;

impl Scope for Shared {
    const PRIVATE: bool = false;
}

/// Every class of waiters.
pub(crate) const ALL: u32 = u32::MAX;

/// The reason why a wait ended.
///
/// All but `TimedOut` mean: check again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A waker has counted this waiter.
    Woken,
    /// A signal handler ran.
    ///
    /// No waker has counted this waiter.
    Interrupted,
    Changed,
    TimedOut,
}

/// The end of a wait, and its clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    clock: c_int,
    at: Timespec,
}

impl Deadline {
    /// Returns the deadline of a program: `None` where the clock cannot be waited for, or the nanoseconds are invalid.
    pub(crate) fn from_program(clock: c_int, at: Timespec) -> Option<Self> {
        let is_clock = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
        (is_clock && (0..1_000_000_000).contains(&at.tv_nsec)).then_some(Self { clock, at })
    }

    pub(crate) fn after(timeout: Duration) -> Option<Self> {
        let now = c::now(CLOCK_MONOTONIC);
        let nanoseconds = now.tv_nsec + i64::from(timeout.subsec_nanos());
        let seconds = i64::try_from(timeout.as_secs()).ok()?;
        let tv_sec = now.tv_sec.checked_add(seconds)?.checked_add(nanoseconds / 1_000_000_000)?;
        Some(Self { clock: CLOCK_MONOTONIC, at: Timespec { tv_sec, tv_nsec: nanoseconds % 1_000_000_000 } })
    }

    pub(crate) fn passed(&self) -> bool {
        self.left() <= 0
    }

    pub(crate) fn earlier(self, other: Self) -> Self {
        if other.left() < self.left() { other } else { self }
    }

    /// Returns the nanoseconds until then.
    fn left(&self) -> i128 {
        let nanoseconds = |time: Timespec| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
        nanoseconds(self.at) - nanoseconds(c::now(self.clock))
    }
}

/// Returns the deadline, or the end of a nap of this length, whichever comes first; `None` is never.
pub(crate) fn sooner(deadline: Option<Deadline>, nap: Option<Duration>) -> Option<Deadline> {
    match (deadline, nap.and_then(Deadline::after)) {
        (Some(deadline), Some(nap)) => Some(deadline.earlier(nap)),
        (deadline, nap) => deadline.or(nap),
    }
}

/// The length of a sleep without a guaranteed wake-up.
const NAP: Duration = Duration::from_millis(1);

/// Sleeps a moment without a guaranteed wake-up.
///
/// Returns whether the deadline has passed.
#[cold]
pub(crate) fn nap(deadline: Option<Deadline>) -> bool {
    nap_for(deadline, NAP);
    deadline.is_some_and(|deadline| deadline.passed())
}

/// Sleeps for this length, or until the deadline.
#[cold]
pub(crate) fn nap_for(deadline: Option<Deadline>, length: Duration) {
    let unused = AtomicU32::new(0);
    wait::<Private>(&unused, 0, ALL, sooner(deadline, Some(length)));
}

/// The number of iterations after which a spinning wait has exceeded any useful spinning.
const MOST_ROUNDS: u32 = 100_000;

/// Yields the CPU in this iteration of a spinning wait: briefly at first, and finally for longer.
pub(crate) fn give_way(round: u32) {
    if round < MOST_ROUNDS { std::thread::yield_now() } else { nap_for(None, NAP) }
}

/// Blocks while `word` holds `expected`, until woken in this class or until the deadline.
#[cold]
pub(crate) fn wait<S: Scope>(word: &AtomicU32, expected: u32, class: u32, deadline: Option<Deadline>) -> Wait {
    const WAIT_BITSET: usize = 9;
    // The kernel has no time before the beginning of its clocks.
    if deadline.is_some_and(|deadline| deadline.at.tv_sec < 0) {
        return Wait::TimedOut;
    }
    let by_calendar = deadline.is_some_and(|deadline| deadline.clock == CLOCK_REALTIME);
    let operation = WAIT_BITSET | private::<S>() | if by_calendar { 256 } else { 0 };
    let time = deadline.as_ref().map_or(core::ptr::null(), |deadline| &raw const deadline.at);
    // SAFETY: the word and the time live as long as the call, which only reads them.
    let ended =
        unsafe { c::futex([word.as_ptr() as usize, operation, expected as usize, time as usize, 0, class as usize]) };
    match ended {
        0 => Wait::Woken,
        c::MINUS_EINTR => Wait::Interrupted,
        c::MINUS_EAGAIN => Wait::Changed,
        c::MINUS_ETIMEDOUT => Wait::TimedOut,
        // The memory of the lock was unmapped, or there are no futexes. Neither can continue.
        _ => c::die("libulocks_pthread: the memory of a lock was unmapped while a thread waited for it\n"),
    }
}

/// Wakes up to `count` waiters of this class, those that have slept longest first; returns their number.
#[cold]
pub(crate) fn wake<S: Scope>(word: &AtomicU32, count: u32, class: u32) -> usize {
    const WAKE_BITSET: usize = 10;
    let count = count.min(i32::MAX as u32) as usize;
    // SAFETY: the kernel receives the word's address, and does not read it.
    let woken =
        unsafe { c::futex([word.as_ptr() as usize, WAKE_BITSET | private::<S>(), count, 0, 0, class as usize]) };
    usize::try_from(woken).unwrap_or(0)
}

/// Adds 1 to `word` and wakes up to `count` of its waiters of any class, as one step.
///
/// A thread that reads the new value cannot block before the wake, and so cannot be woken in place of an earlier
/// waiter.
///
/// (Among those the kernel prefers a real-time priority to an earlier arrival.)
#[cold]
pub(crate) fn add_and_wake<S: Scope>(word: &AtomicU32, count: u32) {
    const WAKE_OP: usize = 5;
    /// Add 1 (`FUTEX_OP_ADD`), and wake no waiter of a second word unless the first was -1 (`FUTEX_OP_CMP_EQ`): then
    /// one more is woken, once in 2^32 times.
    const ADD_ONE: usize = 1 << 28 | 1 << 12 | 0xfff;
    let (address, count) = (word.as_ptr() as usize, count.min(i32::MAX as u32));
    // SAFETY: the kernel adds to the word, which is an atomic that lives as long as the call.
    let done = unsafe { c::futex([address, WAKE_OP | private::<S>(), count as usize, 0, address, ADD_ONE]) };
    if done == -(c::ENOSYS as isize) {
        word.fetch_add(1, Ordering::Release);
        wake::<S>(word, count, ALL);
    }
}

fn private<S: Scope>() -> usize {
    if S::PRIVATE { 128 } else { 0 }
}
