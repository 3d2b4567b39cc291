//! The state that a scheduler keeps of each thread, in addition to the thread itself.
use crate::word::{NONE, Word};

/// The most threads that a [`Runtime`](crate::Runtime) can have: 16,777,215.
pub const MOST_THREADS: usize = NONE as usize;

/// A place in a runtime's slice of threads: [`Slot`] for hand-written threads, [`Link`] for async ones.
///
/// It is sealed: there are these two.
pub trait Node: sealed::Sealed {
    /// The part of the thread that other threads see.
    type Thread;

    /// The part of the thread that other threads see.
    fn thread(&self) -> &Self::Thread;

    /// The word that says what the thread waits for, and whether it is in the ready queue.
    fn word(&self) -> &Word;

    /// The word that links the ready queue; may be the same.
    fn behind(&self) -> &Word;

    /// The thread is about to be polled: true if it was in the ready queue.
    fn leave_queue(&self) -> bool;

    /// The thread is in a wait list from now on, before `next`.
    fn wait_before(&self, next: u32);
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::Slot<T> {}
    impl<T> Sealed for super::Link<T> {}
}

/// A hand-written thread in the user's storage, with 4 bytes for its scheduler and its own semaphore.
#[derive(Debug)]
pub struct Slot<T> {
    word: Word,
    thread: T,
}

impl<T> Slot<T> {
    /// A thread that has not begun.
    pub const fn new(thread: T) -> Self {
        Self::with_units(thread, 0)
    }

    /// A thread that has not begun, whose own semaphore has this number of units.
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
    type Thread = T;

    #[inline(always)]
    fn thread(&self) -> &T {
        &self.thread
    }

    #[inline(always)]
    fn word(&self) -> &Word {
        &self.word
    }

    #[inline(always)]
    fn behind(&self) -> &Word {
        &self.word
    }

    #[inline(always)]
    fn leave_queue(&self) -> bool {
        self.word.leave_own_queue()
    }

    #[inline(always)]
    fn wait_before(&self, next: u32) {
        assert!(!self.word.is_queued(), "a thread that has given way must return before it waits");
        self.word.set_listed(next);
    }
}

/// What the scheduler needs for an async thread, 8 bytes, and what other threads see of it: a place for messages,
/// perhaps.
///
/// Links are in a separate array because futures refer to them. A value for a thread at each switch belongs into
/// its link: it is then in the cache when the thread is signalled.
#[derive(Debug)]
pub struct Link<T = ()> {
    word: Word,
    // Its units say whether the thread's handle was handed out.
    behind: Word,
    thread: T,
}

impl Link {
    /// The link of a thread that has not begun.
    pub const fn new() -> Self {
        Self::with(())
    }
}

impl<T> Link<T> {
    /// The link of a thread that has not begun, of which others see `thread`.
    pub const fn with(thread: T) -> Self {
        Self { word: Word::new(), behind: Word::new(), thread }
    }

    /// True for the first caller only.
    pub(crate) fn take(&self) -> bool {
        let first = self.behind.own_units() == 0;
        if first {
            self.behind.add_own_unit();
        }
        first
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Node for Link<T> {
    type Thread = T;

    #[inline(always)]
    fn thread(&self) -> &T {
        &self.thread
    }

    #[inline(always)]
    fn word(&self) -> &Word {
        &self.word
    }

    #[inline(always)]
    fn behind(&self) -> &Word {
        &self.behind
    }

    #[inline(always)]
    fn leave_queue(&self) -> bool {
        self.word.leave_queue()
    }

    #[inline(always)]
    fn wait_before(&self, next: u32) {
        self.word.set_listed(next);
    }
}
