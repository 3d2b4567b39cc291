//! What a scheduler keeps of each thread, beside the thread itself.
use core::hint::cold_path;

use crate::word::{NONE, Word};

/// The most threads that a [`Kernel`](crate::Kernel) can have: 16,777,215.
pub const MOST_THREADS: usize = NONE as usize;

/// A place in a kernel's slice of threads: [`Slot`] for hand-written threads, [`Link`] for async ones.
///
/// It is sealed: there are these two.
pub trait Node: sealed::Sealed {
    /// The word that says what the thread waits for.
    fn waiting(&self) -> &Word;

    /// The word that says whether the thread is in the ready queue; may be the same.
    fn ready(&self) -> &Word;

    /// The thread is about to be polled: true if it was in the ready queue.
    fn leave_queue(&self) -> bool;

    /// Adds a unit to the thread's own semaphore; true if the thread now belongs into the ready queue, as its word says.
    fn signal_own(&self) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::Slot<T> {}
    impl Sealed for super::Link {}
}

/// A hand-written thread in the user's storage, with 4 bytes for its scheduler and its own semaphore.
#[derive(Debug)]
pub struct Slot<T> {
    word: Word,
    pub(crate) thread: T,
}

impl<T> Slot<T> {
    /// A thread that has not begun.
    pub const fn new(thread: T) -> Self {
        Self::with_units(thread, 0)
    }

    /// A thread that has not begun, whose own semaphore has so many units.
    ///
    /// # Panics
    /// If they are more than [`MOST_OWN_UNITS`](crate::MOST_OWN_UNITS).
    pub const fn with_units(thread: T, units: u32) -> Self {
        Self { word: Word::with_units(units), thread }
    }

    /// The thread, whatever it has become.
    pub fn thread(&self) -> &T {
        &self.thread
    }
}

impl<T> Node for Slot<T> {
    #[inline(always)]
    fn waiting(&self) -> &Word {
        &self.word
    }

    #[inline(always)]
    fn ready(&self) -> &Word {
        &self.word
    }

    #[inline(always)]
    fn leave_queue(&self) -> bool {
        // A thread that was granted something keeps the mark until it learns of that, which saves a store.
        if self.word.is_queued_and_granted() {
            return true;
        }
        cold_path();
        self.word.leave_queue()
    }

    #[inline(always)]
    fn signal_own(&self) -> bool {
        self.word.signal_own_and_queue()
    }
}

/// What the scheduler needs for an async thread: 8 bytes, in an array of their own because futures refer to them.
#[derive(Debug)]
pub struct Link {
    waiting: Word,
    // Its units say whether the thread's handle was handed out.
    ready: Word,
}

impl Link {
    /// The link of a thread that has not begun.
    pub const fn new() -> Self {
        Self { waiting: Word::new(), ready: Word::new() }
    }

    /// True for the first caller only.
    pub(crate) fn take(&self) -> bool {
        let first = self.ready.own_units() == 0;
        if first {
            self.ready.add_own_unit();
        }
        first
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

impl Node for Link {
    #[inline(always)]
    fn waiting(&self) -> &Word {
        &self.waiting
    }

    #[inline(always)]
    fn ready(&self) -> &Word {
        &self.ready
    }

    #[inline(always)]
    fn leave_queue(&self) -> bool {
        self.ready.leave_queue()
    }

    #[inline(always)]
    fn signal_own(&self) -> bool {
        let wakes = self.waiting.signal_own() && !self.ready.is_queued();
        if wakes {
            self.ready.set_queued();
        }
        wakes
    }
}
