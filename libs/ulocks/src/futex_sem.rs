//! A counting semaphore that enters the kernel only to block and to wake.
//!
//! # State
//!
//! | word | bits | meaning |
//! |---|---|---|
//! | `available` | 0..31 | number of available units |
//! | | 31 | `ASLEEP`: a thread may be blocked |
//! | `waiting` | | number of threads that are blocked, are about to block, or have just been woken |
//!
//! # Memory ordering
//!
//! `acquire` is an `Acquire` decrement, `release` a `Release` increment.
//!
//! - To block, a thread increments `waiting`, sets `ASLEEP` if no unit is available, and blocks while the word is
//!   exactly `ASLEEP`.
//! - To release, a thread reads `available`, then `waiting`, and then exchanges `available` for one unit more.
//!
//! A thread that reads `ASLEEP` also sees the waiter that set it in `waiting`, because the exchange that set the flag
//! was a `Release`. If at most one thread waits, the flag is removed and all are woken, including a thread that has
//! announced itself since and blocks on the flag. If more threads wait, the flag stays and one is woken. Hence no
//! thread is blocked without the flag.
//!
//! # Lifetime
//!
//! The exchange is the last memory access of `release`: the thread that takes the unit may free the memory. After it,
//! the releasing thread at most passes the *address* of the word to the kernel.
//!
//! # Fork
//!
//! A forked child may use a semaphore for which other threads of its parent waited. `waiting` counts them forever,
//! which keeps the flag once it is set and costs each release a wake-up that finds no thread.
//!
//! # Fairness
//!
//! None: an arriving thread may take the unit for which another thread was woken, which then blocks again.
//!
//! # Stopped or terminated threads
//!
//! A semaphore has no holder. The units of a dead process are lost. A dead waiter costs a superfluous wake-up for
//! each later release, once a thread has blocked. In [`Shared`](crate::Shared) scope, a process that is killed after it
//! was woken leaves its unit to a waiter that blocks: this one looks again every 100 ms.
//!
//! # References
//!
//! Dijkstra's P and V. The order of the reads, and the flag that the last waiter's wake-up removes, are those of
//! musl's `sem_post`, which solves the same problem.

use crate::{
    Semaphore,
    atomic::{
        AtomicU32,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
    futex::{self, Deadline, Private, Scope, Wait},
};
use core::{marker::PhantomData, time::Duration};

const ASLEEP: u32 = 1 << 31;
const COUNT: u32 = ASLEEP - 1;
/// Longest sleep between processes, where a wake-up may be lost with the process that was woken.
const SHARED_SLEEP: Duration = Duration::from_millis(100);

/// A counting semaphore of 8 bytes on a futex.
///
/// All-zero bytes are a semaphore with no units. One with 2,147,483,647 units is full: releasing it adds nothing.
///
/// # Examples
///
/// ```
/// use ulocks::{FutexSem, Semaphore};
///
/// static SLOTS: FutexSem = FutexSem::new(2);
/// SLOTS.acquire();
/// SLOTS.acquire();
/// assert!(!SLOTS.try_acquire());
/// SLOTS.release();
/// assert!(SLOTS.try_acquire());
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct FutexSem<S: Scope = Private> {
    available: AtomicU32,
    waiting: AtomicU32,
    scope: PhantomData<S>,
}

const _: () = assert!(cfg!(loom) || size_of::<FutexSem>() == 8);

impl<S: Scope> FutexSem<S> {
    const_unless_loom! {
        /// Returns a semaphore with `initial` units, or the maximum if that is less.
        pub fn new(initial: u32) -> Self {
            let initial = if initial > COUNT { COUNT } else { initial };
            FutexSem { available: AtomicU32::new(initial), waiting: AtomicU32::new(0), scope: PhantomData }
        }
    }

    /// Takes a unit if one becomes available within `timeout`; returns whether it did.
    pub fn acquire_for(&self, timeout: Duration) -> bool {
        self.try_acquire() || self.acquire_by(Deadline::after(timeout))
    }

    /// Returns the number of available units at this moment.
    pub fn available(&self) -> u32 {
        self.available.load(Relaxed) & COUNT
    }

    #[cold]
    fn acquire_by(&self, deadline: Option<Deadline>) -> bool {
        loop {
            self.waiting.fetch_add(1, Relaxed);
            let _ = self.available.compare_exchange(0, ASLEEP, Release, Relaxed);
            let nap = (!S::PRIVATE).then_some(SHARED_SLEEP);
            let ended = futex::wait::<S>(&self.available, ASLEEP, futex::ALL, futex::sooner(deadline, nap));
            self.waiting.fetch_sub(1, Relaxed);
            if self.try_acquire() {
                return true;
            }
            if ended == Wait::TimedOut && deadline.is_some_and(|deadline| deadline.passed()) {
                return false;
            }
        }
    }
}

impl<S: Scope> Semaphore for FutexSem<S> {
    fn acquire(&self) {
        if !self.try_acquire() {
            self.acquire_by(None);
        }
    }

    fn try_acquire(&self) -> bool {
        let mut available = self.available.load(Relaxed);
        while available & COUNT > 0 {
            match self.available.compare_exchange_weak(available, available - 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => available = now,
            }
        }
        false
    }

    fn release(&self) {
        let mut available = self.available.load(Acquire);
        loop {
            let waiting = self.waiting.load(Relaxed);
            let count = available & COUNT;
            // A full semaphore stays full.
            let more = if count == COUNT { count } else { count + 1 };
            let asleep = if waiting > 1 { available & ASLEEP } else { 0 };
            match self.available.compare_exchange_weak(available, more | asleep, AcqRel, Acquire) {
                Ok(_) if available & ASLEEP != 0 => {
                    let woken = if waiting > 1 { 1 } else { u32::MAX };
                    futex::wake::<S>(&self.available, woken, futex::ALL);
                    return;
                }
                Ok(_) => return,
                Err(now) => available = now,
            }
        }
    }
}

#[cfg(loom)]
impl<S: Scope> FutexSem<S> {
    /// Declares that the memory may be reused: loom then reports any thread that still accesses it.
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        self.available.with_mut(|_| ());
        self.waiting.with_mut(|_| ());
    }
}
