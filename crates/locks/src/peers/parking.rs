//! A word on which one thread waits for one event: it spins first and then sleeps.
//!
//! # State
//! | value | meaning | set by |
//! |---|---|---|
//! | 0 | the thread spins, or does not wait | the thread, before it publishes the word |
//! | 1 | the event has happened | the signalling thread, once |
//! | 2 | the thread sleeps, or is about to | the thread, by compare-and-swap from 0 |
//!
//! # Ordering
//! The signal is a swap with `Release`, the waiter reads it with `Acquire`. A waiter sleeps only while the word is 2,
//! and the signalling thread wakes it if the swap returns 2: either the waiter's compare-and-swap fails and it reads 1,
//! or the swap returns 2.

use super::atomic::{AtomicU32, Ordering, sleep_while, spin_for, wake_one};

const WAITING: u32 = 0;
const SIGNALLED: u32 = 1;
const SLEEPING: u32 = 2;

/// The number of iterations of spinning before a waiter sleeps: about as long as a wake takes, 15 µs to 25 µs.
const ROUNDS: u32 = 700;

#[derive(Default)]
pub struct Parking(AtomicU32);

impl Parking {
    /// Prepares the word for the next wait, before another thread can find it.
    pub fn reset(&self) {
        self.0.store(WAITING, Ordering::Relaxed);
    }

    pub fn wait(&self) {
        let is_signalled = || self.0.load(Ordering::Acquire) == SIGNALLED;
        if spin_for(ROUNDS, is_signalled)
            || self.0.compare_exchange(WAITING, SLEEPING, Ordering::Acquire, Ordering::Acquire).is_err()
        {
            return;
        }
        while !is_signalled() {
            sleep_while(&self.0, SLEEPING);
        }
    }

    /// Signals the event.
    ///
    /// # Safety
    /// The memory is valid until the waiter has seen the signal.
    pub unsafe fn signal(parking: *const Self) {
        // SAFETY: the waiter has not seen the signal yet. After the swap, only the address is used.
        let (before, word) = unsafe { ((*parking).0.swap(SIGNALLED, Ordering::Release), &raw const (*parking).0) };
        if before == SLEEPING {
            wake_one(word);
        }
    }
}
