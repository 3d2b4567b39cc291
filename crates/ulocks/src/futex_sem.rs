//! A counting semaphore that enters the kernel only to sleep and to wake.
//!
//! # State
//! | word | meaning |
//! |---|---|
//! | `available` | how many may be taken |
//! | `waiting` | how many threads sleep, or are about to, or have just been woken |
//!
//! # Ordering
//! Taking is an `Acquire` decrement, giving a `Release` increment. To sleep: announce in `waiting`, then compare
//! `available` with 0; to give: raise `available`, then read `waiting`. Two words, so these are `SeqCst`: one of the
//! two sees the other, and either there is no sleep or there is a wake.
//!
//! # Fairness
//! None: an arrival may take what a woken thread was woken for, which then sleeps again.
//!
//! # A stopped or dead holder
//! A semaphore has no holder. What a dead process took is not given back; a dead sleeper costs a needless wake for
//! each later release.
//!
//! # Source
//! Dijkstra's P and V; the shape is glibc's `new_sem_t` (a value and a count of waiters), described in its sources.

use crate::{
    Semaphore,
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, SeqCst},
        between_seqcst,
    },
    futex::{self, Deadline, Private, Scope, Wait},
};
use std::{marker::PhantomData, time::Duration};

/// A counting semaphore on a futex. 8 bytes; all zero is an empty one. One that holds [`u32::MAX`] is full: releasing
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
        /// A semaphore that holds `initial`.
        pub fn new(initial: u32) -> Self {
            FutexSem { available: AtomicU32::new(initial), waiting: AtomicU32::new(0), scope: PhantomData }
        }
    }

    /// Takes one if there is one within `timeout`; says whether it did.
    pub fn acquire_for(&self, timeout: Duration) -> bool {
        self.try_acquire() || self.acquire_by(Deadline::after(timeout))
    }

    /// How many may be taken, at this moment.
    pub fn available(&self) -> u32 {
        self.available.load(Relaxed)
    }

    #[cold]
    fn acquire_by(&self, deadline: Option<Deadline>) -> bool {
        self.waiting.fetch_add(1, SeqCst);
        let taken = loop {
            between_seqcst();
            if self.try_acquire() {
                break true;
            }
            if futex::wait::<S>(&self.available, 0, futex::ALL, deadline) == Wait::TimedOut {
                break self.try_acquire();
            }
        };
        self.waiting.fetch_sub(1, Relaxed);
        taken
    }
}

impl<S: Scope> Semaphore for FutexSem<S> {
    fn acquire(&self) {
        if !self.try_acquire() {
            self.acquire_by(None);
        }
    }

    fn try_acquire(&self) -> bool {
        let mut available = self.available.load(SeqCst);
        while available > 0 {
            match self.available.compare_exchange_weak(available, available - 1, Acquire, SeqCst) {
                Ok(_) => return true,
                Err(now) => available = now,
            }
        }
        false
    }

    fn release(&self) {
        // A full one stays full.
        let _ = self.available.fetch_update(SeqCst, SeqCst, |available| available.checked_add(1));
        between_seqcst();
        if self.waiting.load(SeqCst) > 0 {
            futex::wake::<S>(&self.available, 1, futex::ALL);
        }
    }
}
