//! The state that a scheduler keeps for each thread, in addition to the thread itself.

use crate::word::{NONE, Word};

/// Largest number of threads of a [`Runtime`](crate::Runtime): 16,777,215.
pub const MOST_THREADS: usize = NONE as usize;

/// An element of a runtime's slice of threads: [`Slot`] for hand-written threads, [`Link`] for async ones.
///
/// The trait is sealed: there are only these two.
pub trait Node: sealed::Sealed {
    /// The part of the thread that other threads see.
    type Thread;

    /// Returns the part of the thread that other threads see.
    fn thread(&self) -> &Self::Thread;

    /// Returns the word with the state of the thread's wait and its membership in the ready queue.
    fn word(&self) -> &Word;

    /// Returns the word that links the ready queue; it may be the same one.
    fn behind(&self) -> &Word;

    /// Removes the thread from the ready queue before it is polled; returns whether it was in the queue.
    fn leave_queue(&self) -> bool;

    /// Records that the thread is in a wait list from now on, before `next`.
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
    /// Returns a thread that has not started.
    pub const fn new(thread: T) -> Self {
        Self::with_units(thread, 0)
    }

    /// Returns a thread that has not started, whose own semaphore has this number of units.
    ///
    /// # Panics
    ///
    /// Panics if `units` is more than [`MOST_OWN_UNITS`](crate::MOST_OWN_UNITS).
    pub const fn with_units(thread: T, units: u32) -> Self {
        Self { word: Word::with_units(units), thread }
    }

    /// Returns the thread in its current state.
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

/// The scheduler's state of an async thread, 8 bytes, and the part of the thread that other threads see, such as a
/// slot for messages.
///
/// Links are in a separate array because futures refer to them. Put a value that a thread needs at each switch into
/// its link: it is then in the cache when the thread is signalled.
#[derive(Debug)]
pub struct Link<T = ()> {
    word: Word,
    // The units record whether the thread's handle was returned.
    behind: Word,
    thread: T,
}

impl Link {
    /// Returns the link of a thread that has not started.
    pub const fn new() -> Self {
        Self::with(())
    }
}

impl<T> Link<T> {
    /// Returns the link of a thread that has not started, of which other threads see `thread`.
    pub const fn with(thread: T) -> Self {
        Self { word: Word::new(), behind: Word::new(), thread }
    }

    /// Returns true for the first call only.
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

// Threads that wait for one thing, first come, first served, in one word.
//
// The word is the last waiter; the words of the threads link them in a circle, last to first. A list of any length
// therefore takes 4 bytes and no heap.

/// Appends `thread` to the list that ends with `last`; returns the new last.
#[inline(always)]
pub(crate) fn push_waiter<N: Node>(nodes: &[N], last: Option<u32>, thread: u32) -> u32 {
    let first = match last {
        None => thread,
        Some(last) => {
            let first = nodes[last as usize].word().next();
            nodes[last as usize].word().set_next(thread);
            first
        }
    };
    nodes[thread as usize].wait_before(first);
    thread
}

/// Removes the first thread of the list that ends with `last`; returns it and the new last.
#[inline(always)]
pub(crate) fn pop_waiter<N: Node>(nodes: &[N], last: u32) -> (u32, Option<u32>) {
    let first = nodes[last as usize].word().next();
    if first == last {
        return (first, None);
    }
    nodes[last as usize].word().set_next(nodes[first as usize].word().next());
    (first, Some(last))
}

/// Removes `thread` from the list that ends with `last`, at any position; walks the list and returns the new last.
pub(crate) fn remove_waiter<N: Node>(nodes: &[N], last: u32, thread: u32) -> Option<u32> {
    let mut before = last;
    while nodes[before as usize].word().next() != thread {
        before = nodes[before as usize].word().next();
    }
    if before == thread {
        return None;
    }
    nodes[before as usize].word().set_next(nodes[thread as usize].word().next());
    Some(if thread == last { before } else { last })
}
