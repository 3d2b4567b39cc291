//! Blocking and waking: the only interface to the kernel or, under `cfg(loom)`, a model of it.
//!
//! A futex is a word with a guarantee of the kernel: [`wait`] compares the word with an expected value and blocks
//! *atomically with respect to* [`wake`] on the same word. [`add_and_wake`] changes the word within that step. The
//! locks of this crate rely on three properties only: that guarantee, the first-in-first-out order of blocked threads
//! of one priority, and that spurious wake-ups may occur.
//!
//! A word has 32 wait queues, one for each bit of the set that a waiter passes and a waker names
//! (`FUTEX_WAIT_BITSET`). A second word gives a lock 32 more. In 2002 a lock had at most two queues, and whether it
//! should have more was an open question; here the parameter `class` selects them.

use crate::atomic::{self, AtomicU32};
use core::{fmt, time::Duration};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Private {}
    impl Sealed for super::Shared {}
}

/// Choice between [`Private`] and [`Shared`]: the processes whose threads use a lock.
pub trait Scope: sealed::Sealed + fmt::Debug + Copy + Send + Sync + 'static {
    /// Whether only the threads of one process use the lock.
    const PRIVATE: bool;
}

/// Use by the threads of one process. The kernel then finds a waiter by the address of the word, which is cheaper.
#[derive(Clone, Copy, Debug)]
pub struct Private;

/// Use by several processes, in shared memory. The kernel finds a waiter by the page and the offset in it, so each
/// process may map the memory at a different address.
#[derive(Clone, Copy, Debug)]
pub struct Shared;

impl Scope for Private {
    const PRIVATE: bool = true;
}
impl Scope for Shared {
    const PRIVATE: bool = false;
}

/// All classes of waiters.
pub(crate) const ALL: u32 = u32::MAX;

/// Reason for the end of a wait. After every value except `TimedOut`, the caller must check again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A waker woke and counted this waiter.
    Woken,
    /// A signal handler ran. No waker has counted this waiter.
    #[cfg_attr(loom, expect(dead_code, reason = "the model has no signals"))]
    Interrupted,
    /// The word did not have the expected value.
    Changed,
    /// The deadline passed, and no waker has counted this waiter.
    TimedOut,
}

#[cfg(not(loom))]
pub(crate) use kernel::{Deadline, add_and_wake, wait, wake};
#[cfg(loom)]
pub use model::expire;
#[cfg(loom)]
pub(crate) use model::{Deadline, add_and_wake, wait, wake};

/// Returns the earlier of the deadline and the end of a sleep of length `nap`; `None` means never.
pub(crate) fn sooner(deadline: Option<Deadline>, nap: Option<Duration>) -> Option<Deadline> {
    match (deadline, nap.and_then(Deadline::after)) {
        (Some(deadline), Some(nap)) => Some(deadline.earlier(nap)),
        (deadline, nap) => deadline.or(nap),
    }
}

/// Length of a sleep where no thread guarantees a wake-up.
const NAP: Duration = Duration::from_millis(1);

/// Sleeps for a moment, and returns whether the deadline has passed.
///
/// It is for states that no thread will wake from: a stray write has made the state, or a count is at its maximum.
#[cold]
pub(crate) fn nap(deadline: Option<Deadline>) -> bool {
    let word = AtomicU32::new(0);
    wait::<Private>(&word, 0, ALL, sooner(deadline, Some(NAP)));
    deadline.is_some_and(|deadline| deadline.passed())
}

/// Iterations after which a spinning wait has lasted longer than any wait that spinning is for.
const MOST_ROUNDS: u32 = 100_000;

/// Yields the CPU in this iteration of a spinning wait, and sleeps for a moment after [`MOST_ROUNDS`] iterations.
pub(crate) fn give_way(round: u32) {
    if round < MOST_ROUNDS {
        atomic::give_way();
    } else {
        nap(None);
    }
}

#[cfg(not(loom))]
mod kernel {
    use super::{Scope, Wait};
    use crate::atomic::AtomicU32;
    use core::{num::NonZeroU32, time::Duration};
    use rustix::{
        io::Errno,
        thread::futex::{self, Flags, Timespec},
        time::{ClockId, clock_gettime},
    };
    #[cfg(feature = "std")]
    use std::time::Instant;

    /// Time at which a wait gives up, on the monotonic clock.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Deadline(Timespec);

    impl Deadline {
        /// Returns the deadline after `timeout`; `None`, which is a wait without a deadline, if the time cannot be
        /// represented.
        pub(crate) fn after(timeout: Duration) -> Option<Self> {
            let now = clock_gettime(ClockId::Monotonic);
            let nanoseconds = now.tv_nsec + i64::from(timeout.subsec_nanos());
            let seconds = i64::try_from(timeout.as_secs()).ok()?;
            let tv_sec = now.tv_sec.checked_add(seconds)?.checked_add(nanoseconds / 1_000_000_000)?;
            Some(Deadline(Timespec { tv_sec, tv_nsec: nanoseconds % 1_000_000_000 }))
        }

        #[cfg(feature = "std")]
        pub(crate) fn at(instant: Instant) -> Option<Self> {
            Self::after(instant.saturating_duration_since(Instant::now()))
        }

        pub(crate) fn timespec(&self) -> &Timespec {
            &self.0
        }

        /// Returns the same time on the wall clock, as long as that clock is not set.
        #[cfg(feature = "std")]
        pub(crate) fn by_wall_clock(&self) -> Timespec {
            let (now, wall) = (clock_gettime(ClockId::Monotonic), clock_gettime(ClockId::Realtime));
            let nanoseconds = wall.tv_nsec + self.0.tv_nsec - now.tv_nsec;
            let seconds = wall.tv_sec.saturating_add(self.0.tv_sec.saturating_sub(now.tv_sec));
            let tv_sec = seconds.saturating_add(nanoseconds.div_euclid(1_000_000_000));
            // The kernel refuses a time before 1970.
            Timespec { tv_sec: tv_sec.max(0), tv_nsec: nanoseconds.rem_euclid(1_000_000_000) }
        }

        pub(crate) fn passed(&self) -> bool {
            let now = clock_gettime(ClockId::Monotonic);
            (now.tv_sec, now.tv_nsec) >= (self.0.tv_sec, self.0.tv_nsec)
        }

        pub(crate) fn earlier(self, second: Self) -> Self {
            let key = |deadline: &Self| (deadline.0.tv_sec, deadline.0.tv_nsec);
            if key(&second) < key(&self) { second } else { self }
        }
    }

    fn flags<S: Scope>() -> Flags {
        if S::PRIVATE { Flags::PRIVATE } else { Flags::empty() }
    }

    fn set(class: u32) -> NonZeroU32 {
        NonZeroU32::new(class).expect("a class of waiters has at least one bit")
    }

    /// Blocks while `word` equals `expected`, until woken in this class or until the deadline.
    #[cold]
    pub(crate) fn wait<S: Scope>(word: &AtomicU32, expected: u32, class: u32, deadline: Option<Deadline>) -> Wait {
        let timeout = deadline.as_ref().map(Deadline::timespec);
        match futex::wait_bitset(word, flags::<S>(), expected, timeout, set(class)) {
            Ok(()) => Wait::Woken,
            Err(Errno::INTR) => Wait::Interrupted,
            Err(Errno::AGAIN) => Wait::Changed,
            Err(Errno::TIMEDOUT) => Wait::TimedOut,
            // EFAULT or ENOSYS: the memory of the lock was unmapped, or there are no futexes. The lock cannot work in
            // either case.
            Err(error) => panic!("futex wait: {error}"),
        }
    }

    /// Wakes up to `count` threads blocked in this class, longest-blocked first; returns the number woken.
    #[cold]
    pub(crate) fn wake<S: Scope>(word: &AtomicU32, count: u32, class: u32) -> usize {
        // The kernel reads the count as an `int`. An error means that the memory is unmapped, together with its
        // waiters: the next owner may free a lock between an unlock's store and its wake-up.
        futex::wake_bitset(word, flags::<S>(), count.min(i32::MAX as u32), set(class)).unwrap_or(0)
    }

    /// Adds 1 to `word` and wakes up to `count` of its waiters of any class, as one step; returns the number woken.
    ///
    /// A thread that reads the new value cannot block before the wake-up, and so cannot be woken in place of one that
    /// blocked earlier. (Among the latter, the kernel prefers a real-time priority to an earlier arrival.)
    #[cold]
    pub(crate) fn add_and_wake<S: Scope>(word: &AtomicU32, count: u32) -> usize {
        use core::sync::atomic::Ordering::Release;
        use rustix::thread::futex::{WakeOp, WakeOpCmp};
        let count = count.min(i32::MAX as u32);
        // The operation can also wake waiters of a second word if a comparison is true. This comparison is true once
        // in 2^32 calls, and then one more waiter is woken.
        let never = (1 << 12) - 1;
        match futex::wake_op(word, flags::<S>(), count, 0, word, WakeOp::Add, WakeOpCmp::Eq, 1, never) {
            Err(Errno::NOSYS) => {
                word.fetch_add(1, Release);
                wake::<S>(word, count, super::ALL)
            }
            woken => woken.unwrap_or(0),
        }
    }
}

/// Model of the futex for loom.
///
/// One mutex makes the comparison and the queueing one step, as the kernel's bucket lock does. Each waiter has its
/// own condition variable, so that a wake-up reaches only the waiters that it names.
#[cfg(loom)]
mod model {
    use super::{Scope, Wait};
    use crate::atomic::{AtomicU32, Ordering};
    use loom::sync::{Arc, Condvar, Mutex};
    use std::time::{Duration, Instant};

    /// A deadline of the model, in which time passes when a thread calls [`expire`].
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Deadline;

    impl Deadline {
        pub(crate) fn after(_: Duration) -> Option<Self> {
            Some(Deadline)
        }
        pub(crate) fn at(_: Instant) -> Option<Self> {
            Some(Deadline)
        }
        pub(crate) fn passed(&self) -> bool {
            KERNEL.lock().unwrap().expired
        }
        pub(crate) fn earlier(self, _: Self) -> Self {
            self
        }
    }

    struct Waiter {
        word: usize,
        class: u32,
        timed: bool,
        ended: Mutex<Option<Wait>>,
        alarm: Condvar,
    }

    #[derive(Default)]
    struct Kernel {
        waiters: Vec<Arc<Waiter>>,
        expired: bool,
    }

    loom::lazy_static! {
        static ref KERNEL: Mutex<Kernel> = Mutex::new(Kernel::default());
    }

    impl Waiter {
        fn end(&self, why: Wait) {
            *self.ended.lock().unwrap() = Some(why);
            self.alarm.notify_one();
        }
    }

    pub(crate) fn wait<S: Scope>(word: &AtomicU32, expected: u32, class: u32, deadline: Option<Deadline>) -> Wait {
        let waiter = {
            let mut kernel = KERNEL.lock().unwrap();
            if word.load(Ordering::SeqCst) != expected {
                return Wait::Changed;
            }
            if deadline.is_some() && kernel.expired {
                return Wait::TimedOut;
            }
            let waiter = Arc::new(Waiter {
                word: std::ptr::from_ref(word).addr(),
                class,
                timed: deadline.is_some(),
                ended: Mutex::new(None),
                alarm: Condvar::new(),
            });
            kernel.waiters.push(Arc::clone(&waiter));
            waiter
        };
        let mut ended = waiter.ended.lock().unwrap();
        loop {
            if let Some(why) = *ended {
                return why;
            }
            ended = waiter.alarm.wait(ended).unwrap();
        }
    }

    pub(crate) fn wake<S: Scope>(word: &AtomicU32, count: u32, class: u32) -> usize {
        KERNEL.lock().unwrap().wake(word, count, class)
    }

    pub(crate) fn add_and_wake<S: Scope>(word: &AtomicU32, count: u32) -> usize {
        let mut kernel = KERNEL.lock().unwrap();
        word.fetch_add(1, Ordering::SeqCst);
        kernel.wake(word, count, super::ALL)
    }

    impl Kernel {
        fn wake(&mut self, word: &AtomicU32, count: u32, class: u32) -> usize {
            let address = std::ptr::from_ref(word).addr();
            let mut woken = 0;
            self.waiters.retain(|waiter| {
                let named = waiter.word == address && waiter.class & class != 0 && woken < count as usize;
                if named {
                    woken += 1;
                    waiter.end(Wait::Woken);
                }
                !named
            });
            woken
        }
    }

    /// Lets every deadline pass.
    pub fn expire() {
        let mut kernel = KERNEL.lock().unwrap();
        kernel.expired = true;
        kernel.waiters.retain(|waiter| {
            if waiter.timed {
                waiter.end(Wait::TimedOut);
            }
            !waiter.timed
        });
    }
}
