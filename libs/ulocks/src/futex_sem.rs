//! A counting semaphore that enters the kernel only to sleep and to wake.
//!
//! # State
//! | word | bits | meaning |
//! |---|---|---|
//! | `available` | 0..31 | how many may be taken |
//! | | 31 | `ASLEEP`: somebody may sleep |
//! | `waiting` | | how many threads sleep, or are about to, or have just been woken |
//!
//! # Ordering
//! Taking is an `Acquire` decrement, giving a `Release` increment. To sleep: announce in `waiting`, set `ASLEEP` where
//! nothing is left, and sleep while the word says just that. To give: read `available`, then `waiting`, then exchange
//! `available` for one more. Whoever finds `ASLEEP` finds who has set it in `waiting`, since the exchange that set it
//! was a `Release`. If one waits at most the flag goes, and all are woken: one that has announced itself since, and
//! sleeps on the flag, with it. If more do it stays, and one is woken. So no sleeper is without the flag.
//!
//! # Lifetime
//! The exchange is the last access of `release`: the memory may be freed by whoever takes the unit. After it the kernel
//! gets an address to wake, at most.
//!
//! # Fork
//! A forked child may use one for which other threads of its parent waited: `waiting` counts them for ever, which keeps
//! the flag once it is set, and costs a wake that finds nobody for each release.
//!
//! # Fairness
//! None: an arrival may take what a woken thread was woken for, which then sleeps again.
//!
//! # A stopped or dead holder
//! A semaphore has no holder. What a dead process took is not given back; a dead sleeper costs a needless wake for
//! each later release, once somebody has slept.
//!
//! # Source
//! Dijkstra's P and V; the order of looks, and the flag that the last waiter's wake takes away, are those of musl's
//! `sem_post`, which had to solve the same.

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

/// A counting semaphore on a futex. 8 bytes; all zero is an empty one. One that holds 2,147,483,647 is full: releasing
/// it adds nothing.
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
        /// A semaphore that holds `initial`, or as much as it can.
        pub fn new(initial: u32) -> Self {
            let initial = if initial > COUNT { COUNT } else { initial };
            FutexSem { available: AtomicU32::new(initial), waiting: AtomicU32::new(0), scope: PhantomData }
        }
    }

    /// Takes one if there is one within `timeout`; says whether it did.
    pub fn acquire_for(&self, timeout: Duration) -> bool {
        self.try_acquire() || self.acquire_by(Deadline::after(timeout))
    }

    /// How many may be taken, at this moment.
    pub fn available(&self) -> u32 {
        self.available.load(Relaxed) & COUNT
    }

    #[cold]
    fn acquire_by(&self, deadline: Option<Deadline>) -> bool {
        loop {
            self.waiting.fetch_add(1, Relaxed);
            let _ = self.available.compare_exchange(0, ASLEEP, Release, Relaxed);
            let ended = futex::wait::<S>(&self.available, ASLEEP, futex::ALL, deadline);
            self.waiting.fetch_sub(1, Relaxed);
            if self.try_acquire() {
                return true;
            }
            if ended == Wait::TimedOut {
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
            // A full one stays full.
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
    /// The memory is somebody else's from now on: loom reports whoever touches it still.
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        self.available.with_mut(|_| ());
        self.waiting.with_mut(|_| ());
    }
}
