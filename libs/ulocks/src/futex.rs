//! Sleeping and waking: the one door to the kernel, or, under `cfg(loom)`, a model of it.
//!
//! A futex is a word and the kernel's promise about it: [`wait`] compares the word with an expected value and goes to
//! sleep *atomically with respect to* [`wake`] on the same word. [`add_and_wake`] changes the word within that step. All
//! that the locks here rely on is that promise, the first-in-first-out order of sleepers of one priority, and that a
//! sleeper may be woken for no reason.
//!
//! A word has as many wait queues as it has waiter classes: 32, one for each bit of the set that a sleeper gives and
//! a waker names (`FUTEX_WAIT_BITSET`). With a second word a lock has 32 more. In 2002 a lock had two queues at most,
//! and whether it should have more was an open question; here it is `class`.

use crate::atomic::{self, AtomicU32};
use core::{fmt, time::Duration};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Private {}
    impl Sealed for super::Shared {}
}

/// Who uses a lock: [`Private`] or [`Shared`].
pub trait Scope: sealed::Sealed + fmt::Debug + Copy + Send + Sync + 'static {
    /// Whether only the threads of one process do.
    const PRIVATE: bool;
}

/// Used by the threads of one process. The kernel then finds a sleeper by the word's address, which is cheaper.
#[derive(Clone, Copy, Debug)]
pub struct Private;

/// Used by several processes, in memory that they share: the kernel finds a sleeper by the page and the offset in it,
/// so each process may have the memory at a different address.
#[derive(Clone, Copy, Debug)]
pub struct Shared;

impl Scope for Private {
    const PRIVATE: bool = true;
}
impl Scope for Shared {
    const PRIVATE: bool = false;
}

/// Every class of waiters.
pub(crate) const ALL: u32 = u32::MAX;

/// Why a wait ended. All but `TimedOut` mean: look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Woken by a waker, which has counted this sleeper.
    Woken,
    /// A signal handler ran. No waker has counted this sleeper.
    #[cfg_attr(loom, expect(dead_code, reason = "the model has no signals"))]
    Interrupted,
    /// The word did not have the expected value.
    Changed,
    /// The deadline passed, and no waker has counted this sleeper.
    TimedOut,
}

#[cfg(not(loom))]
pub(crate) use kernel::{Deadline, add_and_wake, wait, wake};
#[cfg(loom)]
pub use model::expire;
#[cfg(loom)]
pub(crate) use model::{Deadline, add_and_wake, wait, wake};

/// The deadline, or the end of a nap of this length, whichever comes first; `None` is never.
pub(crate) fn sooner(deadline: Option<Deadline>, nap: Option<Duration>) -> Option<Deadline> {
    match (deadline, nap.and_then(Deadline::after)) {
        (Some(deadline), Some(nap)) => Some(deadline.earlier(nap)),
        (deadline, nap) => deadline.or(nap),
    }
}

/// How long to sleep where nobody promises a wake.
const NAP: Duration = Duration::from_millis(1);

/// Sleeps a moment, in a state that nobody will wake from: one that a stray write has made, or a count that is full.
/// Says whether the deadline has passed.
#[cold]
pub(crate) fn nap(deadline: Option<Deadline>) -> bool {
    let nobody = AtomicU32::new(0);
    wait::<Private>(&nobody, 0, ALL, sooner(deadline, Some(NAP)));
    deadline.is_some_and(|deadline| deadline.passed())
}

/// After so many rounds a wait that spins has lasted longer than any that spinning is for.
const MOST_ROUNDS: u32 = 100_000;

/// Lets others have the CPU in this round of a wait that spins: for the moment, and in the end for longer.
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

    /// When a wait gives up, on the monotonic clock.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Deadline(Timespec);

    impl Deadline {
        /// `None` when it is too far away to be written down: that is a wait without a deadline.
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

        pub(crate) fn passed(&self) -> bool {
            let now = clock_gettime(ClockId::Monotonic);
            (now.tv_sec, now.tv_nsec) >= (self.0.tv_sec, self.0.tv_nsec)
        }

        pub(crate) fn earlier(self, other: Self) -> Self {
            let key = |deadline: &Self| (deadline.0.tv_sec, deadline.0.tv_nsec);
            if key(&other) < key(&self) { other } else { self }
        }
    }

    fn flags<S: Scope>() -> Flags {
        if S::PRIVATE { Flags::PRIVATE } else { Flags::empty() }
    }

    fn set(class: u32) -> NonZeroU32 {
        NonZeroU32::new(class).expect("a class of waiters has at least one bit")
    }

    /// Sleeps while `word` holds `expected`, until woken in this class, until the deadline.
    #[cold]
    pub(crate) fn wait<S: Scope>(word: &AtomicU32, expected: u32, class: u32, deadline: Option<Deadline>) -> Wait {
        let timeout = deadline.as_ref().map(Deadline::timespec);
        match futex::wait_bitset(word, flags::<S>(), expected, timeout, set(class)) {
            Ok(()) => Wait::Woken,
            Err(Errno::INTR) => Wait::Interrupted,
            Err(Errno::AGAIN) => Wait::Changed,
            Err(Errno::TIMEDOUT) => Wait::TimedOut,
            // EFAULT or ENOSYS: the memory is gone from under the lock, or there are no futexes. Neither can go on.
            Err(error) => panic!("futex wait: {error}"),
        }
    }

    /// Wakes up to `count` sleepers of this class, those that sleep longest first; says how many.
    #[cold]
    pub(crate) fn wake<S: Scope>(word: &AtomicU32, count: u32, class: u32) -> usize {
        // The kernel reads the count as an `int`. An error means that the memory is gone, with the sleepers in it:
        // a lock may be freed by the next owner between an unlock's store and its wake.
        futex::wake_bitset(word, flags::<S>(), count.min(i32::MAX as u32), set(class)).unwrap_or(0)
    }

    /// Adds 1 to `word` and wakes up to `count` of its sleepers of any class, as one step: a thread that reads the new
    /// value cannot fall asleep before the wake, and so cannot be woken in place of one that slept already. (Among those
    /// the kernel prefers a real-time priority to an earlier arrival.)
    #[cold]
    pub(crate) fn add_and_wake<S: Scope>(word: &AtomicU32, count: u32) {
        use core::sync::atomic::Ordering::Release;
        use rustix::thread::futex::{WakeOp, WakeOpCmp};
        let count = count.min(i32::MAX as u32);
        // The operation could wake sleepers of a second word if a comparison holds: this one does once in 2^32 times,
        // and then wakes one more.
        let never = (1 << 12) - 1;
        let done = futex::wake_op(word, flags::<S>(), count, 0, word, WakeOp::Add, WakeOpCmp::Eq, 1, never);
        if done == Err(Errno::NOSYS) {
            word.fetch_add(1, Release);
            wake::<S>(word, count, super::ALL);
        }
    }
}

/// The futex as loom sees it: one mutex makes comparing and queueing one step, as the kernel's bucket lock does, and
/// each sleeper has its own condition, so that a wake can reach no sleeper but those it names.
#[cfg(loom)]
mod model {
    use super::{Scope, Wait};
    use crate::atomic::{AtomicU32, Ordering};
    use loom::sync::{Arc, Condvar, Mutex};
    use std::time::{Duration, Instant};

    /// In a model time passes when a thread calls [`expire`].
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

    struct Sleeper {
        word: usize,
        class: u32,
        timed: bool,
        ended: Mutex<Option<Wait>>,
        alarm: Condvar,
    }

    #[derive(Default)]
    struct Kernel {
        sleepers: Vec<Arc<Sleeper>>,
        expired: bool,
    }

    loom::lazy_static! {
        static ref KERNEL: Mutex<Kernel> = Mutex::new(Kernel::default());
    }

    impl Sleeper {
        fn end(&self, why: Wait) {
            *self.ended.lock().unwrap() = Some(why);
            self.alarm.notify_one();
        }
    }

    pub(crate) fn wait<S: Scope>(word: &AtomicU32, expected: u32, class: u32, deadline: Option<Deadline>) -> Wait {
        let sleeper = {
            let mut kernel = KERNEL.lock().unwrap();
            if word.load(Ordering::SeqCst) != expected {
                return Wait::Changed;
            }
            if deadline.is_some() && kernel.expired {
                return Wait::TimedOut;
            }
            let sleeper = Arc::new(Sleeper {
                word: std::ptr::from_ref(word).addr(),
                class,
                timed: deadline.is_some(),
                ended: Mutex::new(None),
                alarm: Condvar::new(),
            });
            kernel.sleepers.push(Arc::clone(&sleeper));
            sleeper
        };
        let mut ended = sleeper.ended.lock().unwrap();
        loop {
            if let Some(why) = *ended {
                return why;
            }
            ended = sleeper.alarm.wait(ended).unwrap();
        }
    }

    pub(crate) fn wake<S: Scope>(word: &AtomicU32, count: u32, class: u32) -> usize {
        KERNEL.lock().unwrap().wake(word, count, class)
    }

    pub(crate) fn add_and_wake<S: Scope>(word: &AtomicU32, count: u32) {
        let mut kernel = KERNEL.lock().unwrap();
        word.fetch_add(1, Ordering::SeqCst);
        kernel.wake(word, count, super::ALL);
    }

    impl Kernel {
        fn wake(&mut self, word: &AtomicU32, count: u32, class: u32) -> usize {
            let address = std::ptr::from_ref(word).addr();
            let mut woken = 0;
            self.sleepers.retain(|sleeper| {
                let named = sleeper.word == address && sleeper.class & class != 0 && woken < count as usize;
                if named {
                    woken += 1;
                    sleeper.end(Wait::Woken);
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
        kernel.sleepers.retain(|sleeper| {
            if sleeper.timed {
                sleeper.end(Wait::TimedOut);
            }
            !sleeper.timed
        });
    }
}
