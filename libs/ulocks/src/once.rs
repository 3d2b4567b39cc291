//! Something that is done once, by whoever comes first, while the others wait.
//!
//! # State
//! | `word` | meaning |
//! |---|---|
//! | 0 | not done |
//! | 1 | being done |
//! | 2 | being done, and somebody may sleep until it is |
//! | 3 | done |
//!
//! Any other value is a stray write: as being done, and who waits sleeps until it changes.
//!
//! # Ordering
//! Done is written with `Release` and read with `Acquire`: whoever sees it sees what was done. One word, no fence.
//!
//! # Fairness
//! All wait for the same, and all are woken by it.
//!
//! # A stopped or dead doer
//! Blocks the others. One that panics leaves it undone, and the next one tries. A *process* that is killed in the
//! middle, in shared memory, leaves it being done for ever: set up shared memory before you name it, as
//! [`shared`](crate::shared) does.
//!
//! # Fork
//! A child can use one that is done, or that no thread was doing. A call on one that another thread was doing
//! never returns in the child: unlike `pthread_once` of glibc, it does not restart the work.
//!
//! # Source
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

/// Does something once. 4 bytes.
///
/// A thread that ends without returning from the work, other than by a panic, leaves it being done: the calls of all
/// others never return. That holds for a process that is killed, with `Once<Shared>`, and in a forked child for a thread that did not
/// come along.
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
        /// Nothing is done yet.
        pub fn new() -> Self {
            Once { word: AtomicU32::new(TO_DO), scope: PhantomData }
        }
    }

    /// Whether it has been done: then what was done is visible here.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.word.load(Acquire) == DONE
    }

    /// Does it, or waits until another thread has done it. If `work` panics it is not done, and another may try.
    ///
    /// Calling it from within `work` waits for ever.
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

/// Ends the doing on every way out of it, also a panic's.
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
