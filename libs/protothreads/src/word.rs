//! One word for each thread: the state of its wait, its membership in the ready queue, and its successor there.
//!
//! # State
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 31 | `QUEUED` | the scheduler knows that the thread can run |
//! | 30 | `LISTED` | the thread is in the wait list of a semaphore |
//! | 29 | `GRANTED` | its wait was granted, but it was not polled since |
//! | 28 | `OWN` | the thread waits for its own semaphore, which has no unit |
//! | 30 and 29 | | the thread has finished |
//! | 24 to 27 | units | units in its own semaphore |
//! | 0 to 23 | next | the successor in the list that contains the thread, or `NONE` |
//!
//! A thread that waits for one thing at a time is never in a wait list and in the ready queue at once, so a
//! hand-written thread has one such word. A [`Waker`](core::task::Waker) can wake an async thread while it is in a
//! wait list, so it has a second word, whose next is the successor in the ready queue.
//!
//! A thread that signals another's own semaphore knows its number, so the next thread to run comes from no word in
//! memory. The words only decide branches, which the processor predicts. That makes a ring of such threads fast.
use core::{cell::Cell, hint::cold_path, task::Poll};

/// No thread.
pub(crate) const NONE: u32 = (1 << 24) - 1;

/// Largest number of units of a thread's own semaphore.
pub const MOST_OWN_UNITS: u32 = 15;

const QUEUED: u32 = 1 << 31;
const LISTED: u32 = 1 << 30;
const GRANTED: u32 = 1 << 29;
const OWN: u32 = 1 << 28;
const UNIT: u32 = 1 << 24;
const UNITS: u32 = UNIT * MOST_OWN_UNITS;

// Whole words of a thread that is in no list before another. Nearly all handoffs involve only these, so they are
// compared first: that takes one instruction, and the following code knows every bit.
const FREE: u32 = NONE;
const WAITS: u32 = OWN | NONE;
const HAS: u32 = GRANTED | NONE;
const CALLED: u32 = QUEUED | HAS;

/// The state word of a thread; it is opaque, and only the runtime uses it.
#[derive(Debug)]
pub struct Word(Cell<u32>);

impl Word {
    pub(crate) const fn new() -> Self {
        Self::with_units(0)
    }

    pub(crate) const fn with_units(units: u32) -> Self {
        assert!(units <= MOST_OWN_UNITS, "a thread's own semaphore has at most 15 units");
        Self(Cell::new(NONE + units * UNIT))
    }

    pub(crate) fn own_units(&self) -> u32 {
        (self.0.get() & UNITS) / UNIT
    }

    #[inline(always)]
    pub(crate) fn next(&self) -> u32 {
        self.0.get() & NONE
    }

    #[inline(always)]
    pub(crate) fn set_next(&self, next: u32) {
        self.0.set(self.0.get() & !NONE | next);
    }

    #[inline(always)]
    pub(crate) fn is_queued(&self) -> bool {
        self.0.get() & QUEUED != 0
    }

    #[inline(always)]
    pub(crate) fn set_queued(&self) {
        self.0.set(self.0.get() | QUEUED);
    }

    /// Removes the thread from the ready queue; returns whether it was in it.
    #[inline(always)]
    pub(crate) fn leave_queue(&self) -> bool {
        if self.0.get() == CALLED {
            self.0.set(HAS);
            return true;
        }
        cold_path();
        let queued = self.is_queued();
        if queued {
            self.0.set(self.0.get() & !QUEUED);
        }
        queued
    }

    /// Removes the thread from the ready queue that this word links.
    #[inline(always)]
    pub(crate) fn leave_own_queue(&self) -> bool {
        let queued = self.leave_queue();
        if queued {
            self.set_next(NONE);
        }
        queued
    }

    /// Returns whether it waits for nothing, has not finished, and has no granted wait.
    #[inline(always)]
    pub(crate) fn is_free(&self) -> bool {
        self.0.get() & (LISTED | GRANTED | OWN) == 0
    }

    #[inline(always)]
    pub(crate) fn is_listed(&self) -> bool {
        self.0.get() & (LISTED | GRANTED) == LISTED
    }

    #[inline(always)]
    pub(crate) fn is_granted(&self) -> bool {
        self.0.get() & (LISTED | GRANTED) == GRANTED
    }

    #[inline(always)]
    pub(crate) fn is_finished(&self) -> bool {
        self.0.get() & (LISTED | GRANTED) == LISTED | GRANTED
    }

    /// Records that it is in a wait list, before `next`.
    #[inline(always)]
    pub(crate) fn set_listed(&self, next: u32) {
        self.0.set(self.0.get() & !NONE | LISTED | next);
    }

    #[inline(always)]
    pub(crate) fn set_granted(&self) {
        self.0.set(self.0.get() & !LISTED | GRANTED | NONE);
    }

    /// Records that it was polled after a grant, or is not in a wait list any more.
    #[inline(always)]
    pub(crate) fn set_free(&self) {
        self.0.set(self.0.get() & !(LISTED | GRANTED | OWN) | NONE);
    }

    /// Records that it has finished. It may still be in the ready queue, whose link stays.
    pub(crate) fn set_finished(&self) {
        self.0.set(self.0.get() & NONE | LISTED | GRANTED);
    }

    /// Takes a unit of the thread's own semaphore, or records that it waits for one.
    #[inline(always)]
    pub(crate) fn wait_own(&self) -> Poll<()> {
        let word = self.0.get();
        if word == HAS {
            self.0.set(FREE);
            return Poll::Ready(());
        }
        if word == FREE {
            self.0.set(WAITS);
            return Poll::Pending;
        }
        cold_path();
        if word == WAITS {
            // A spurious poll.
            return Poll::Pending;
        }
        if word & GRANTED != 0 {
            self.0.set(word & !GRANTED);
            return Poll::Ready(());
        }
        if word & UNITS != 0 {
            self.0.set(word - UNIT);
            return Poll::Ready(());
        }
        self.0.set(word | OWN);
        Poll::Pending
    }

    /// Adds a unit to the thread's own semaphore; returns true if the thread waited for it and now belongs into the
    /// ready queue, as the word records.
    #[inline(always)]
    pub(crate) fn signal_own(&self) -> bool {
        let word = self.0.get();
        if word == WAITS {
            self.0.set(CALLED);
            return true;
        }
        cold_path();
        if word & OWN == 0 {
            self.add_own_unit();
            return false;
        }
        // It has no units and is in no wait list.
        self.0.set(word ^ (OWN | GRANTED) | QUEUED);
        word & QUEUED == 0
    }

    /// Ends a wait for the thread's own semaphore that was not completed.
    #[inline(always)]
    pub(crate) fn give_up_own(&self) {
        let word = self.0.get();
        if word & (OWN | GRANTED) != 0 {
            cold_path();
            self.0.set(word & !(OWN | GRANTED));
            if word & GRANTED != 0 {
                self.add_own_unit();
            }
        }
    }

    #[inline(never)]
    pub(crate) fn add_own_unit(&self) {
        let word = self.0.get();
        assert!(word & UNITS != UNITS, "a thread's own semaphore has at most {MOST_OWN_UNITS} units");
        self.0.set(word + UNIT);
    }
}
