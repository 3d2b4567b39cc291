//! One-time initialisation by the first thread that calls, while the others wait.
//!
//! # State
//!
//! | `word` | meaning |
//! |---|---|
//! | 0 | not done |
//! | 1 | in progress |
//! | 2 | in progress, and a thread may be blocked until it is done |
//! | 3 | done |
//!
//! Any other value is a stray write. It is treated as in progress, and a waiter blocks until the word changes.
//!
//! # Memory ordering
//!
//! The value 3 is written with `Release` and read with `Acquire`: a thread that sees it sees the effects of the work.
//! There is a single word, and hence no fence.
//!
//! # Fairness
//!
//! All threads wait for the same event, which wakes all of them.
//!
//! # Stopped or terminated threads
//!
//! A stopped thread that does the work blocks the others. If it panics, the work counts as not done, and the next
//! thread tries. A *process* that is killed during the work, in shared memory, leaves the word in progress forever.
//! Initialise shared memory before you give it a name, as [`shared`](crate::shared) does.
//!
//! # Fork
//!
//! A child can use a `Once` that is done, or that no thread was doing. A call on one that another thread was doing
//! never returns in the child: unlike `pthread_once` of glibc, it does not restart the work.
//!
//! # References
//!
//! `pthread_once`; the three waiting states are Drepper's ("Futexes Are Tricky").

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    futex::{self, Private, Scope},
};
use core::marker::PhantomData;

const TO_DO: u32 = 0;
const DOING: u32 = 1;
const SLEPT_ON: u32 = 2;
const DONE: u32 = 3;

/// A one-time initialisation of 4 bytes.
///
/// A thread that ends without returning from the work, other than by a panic, leaves it in progress: the calls of all
/// other threads never return. That applies to a process that is killed, with `Once<Shared>`, and in a forked child
/// to a thread that does not exist there.
///
/// # Examples
///
/// ```
/// static SETUP: ulocks::Once = ulocks::Once::new();
/// let mut times = 0;
/// SETUP.call_once(|| times += 1);
/// SETUP.call_once(|| times += 1);
/// assert_eq!(times, 1);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Once<S: Scope = Private> {
    word: AtomicU32,
    scope: PhantomData<S>,
}

const _: () = assert!(cfg!(loom) || size_of::<Once>() == 4);

impl<S: Scope> Once<S> {
    const_unless_loom! {
        /// Returns a `Once` whose work is not done.
        pub fn new() -> Self {
            Once { word: AtomicU32::new(TO_DO), scope: PhantomData }
        }
    }

    /// Returns whether the work is done; if so, its effects are visible to the caller.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.word.load(Acquire) == DONE
    }

    /// Does the work, or waits until another thread has done it.
    ///
    /// If `work` panics, it counts as not done, and another thread may try. A call from within `work` waits forever.
    #[inline]
    pub fn call_once(&self, work: impl FnOnce()) {
        if !self.is_done() {
            self.call(work);
        }
    }

    #[cold]
    fn call(&self, work: impl FnOnce()) {
        loop {
            match self.word.compare_exchange(TO_DO, DOING, Acquire, Acquire) {
                Ok(_) => {
                    let mut end = End { once: self, state: TO_DO };
                    work();
                    end.state = DONE;
                    return;
                }
                Err(DONE) => return,
                Err(DOING) if self.word.compare_exchange(DOING, SLEPT_ON, Relaxed, Relaxed).is_err() => {}
                Err(now) => {
                    let slept_on = if now == DOING { SLEPT_ON } else { now };
                    futex::wait::<S>(&self.word, slept_on, futex::ALL, None);
                }
            }
        }
    }
}

#[cfg(not(loom))]
impl<S: Scope> Default for Once<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// Ends the progress state on every exit from the work, including a panic.
struct End<'a, S: Scope> {
    once: &'a Once<S>,
    state: u32,
}

impl<S: Scope> Drop for End<'_, S> {
    fn drop(&mut self) {
        if self.once.word.swap(self.state, Release) != DOING {
            futex::wake::<S>(&self.once.word, u32::MAX, futex::ALL);
        }
    }
}
