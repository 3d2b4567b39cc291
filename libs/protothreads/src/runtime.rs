//! The threads, their shared data, and their scheduler.

use crate::{
    node::{MOST_THREADS, Node},
    schedulers::Scheduler,
};
use core::{cell::Cell, hint::cold_path, task::Poll};

/// The threads, their shared data, and their scheduler.
///
/// `N` is a [`Slot`](crate::Slot) (hand-written threads) or a [`Link`](crate::Link) (async threads), `S` the
/// [`Scheduler`], `W` the type of the shared data. The user provides all storage. A runtime belongs to one OS thread.
#[derive(Debug)]
pub struct Runtime<'r, N, S, W = ()> {
    pub(crate) nodes: &'r [N],
    pub(crate) scheduler: S,
    shared: &'r W,
    wasted_polls: Cell<u64>,
}

impl<'r, N: Node, S: Scheduler, W> Runtime<'r, N, S, W> {
    /// Returns a runtime for these threads.
    ///
    /// # Panics
    ///
    /// Panics if there are more than [`MOST_THREADS`].
    pub fn new(nodes: &'r [N], scheduler: S, shared: &'r W) -> Self {
        assert!(nodes.len() <= MOST_THREADS, "a runtime has at most {MOST_THREADS} threads, not {}", nodes.len());
        Self { nodes, scheduler, shared, wasted_polls: Cell::new(0) }
    }

    /// Returns the data that the threads share.
    #[inline(always)]
    pub fn shared(&self) -> &'r W {
        self.shared
    }

    /// Returns a thread: all of it if it is hand-written, and the value in its [`Link`](crate::Link) if it is async.
    ///
    /// # Panics
    ///
    /// Panics if there is no thread of that number.
    #[inline(always)]
    pub fn thread(&self, index: usize) -> &'r N::Thread {
        self.nodes[index].thread()
    }

    /// Returns the number of threads, including finished ones.
    #[inline(always)]
    pub fn thread_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the node of a thread for its handle: `thread` must be the number in a [`Handle`](crate::Handle) of
    /// this runtime.
    #[inline(always)]
    pub(crate) fn own_node(&self, thread: u32) -> &'r N {
        debug_assert!((thread as usize) < self.nodes.len());
        // SAFETY: `Handle::new` checked the number against this runtime's slice, which never changes.
        unsafe { self.nodes.get_unchecked(thread as usize) }
    }

    /// Reports to the scheduler that a thread can run, unless it knows that already.
    #[inline(always)]
    pub(crate) fn make_ready(&self, thread: u32) {
        let word = self.nodes[thread as usize].word();
        if !word.is_queued() {
            word.set_queued();
            self.scheduler.ready(self.nodes, thread);
        }
    }

    /// Grants a thread its wait; the thread is not in a wait list any more.
    #[inline(always)]
    pub(crate) fn grant(&self, thread: u32) {
        self.nodes[thread as usize].word().set_granted();
        self.make_ready(thread);
    }

    /// Gives a unit to the own semaphore of thread `index`.
    ///
    /// # Panics
    ///
    /// Panics if there is no thread of that number, or if its semaphore has
    /// [`MOST_OWN_UNITS`](crate::MOST_OWN_UNITS).
    #[inline(always)]
    pub fn signal(&self, index: usize) {
        self.tell(index, |_| ());
    }

    /// Calls `leave` with thread `index`, for example to store a message, and gives a unit to its own semaphore.
    ///
    /// # Panics
    ///
    /// Panics if there is no thread of that number, or its semaphore is full, as [`signal`](Self::signal) does.
    #[inline(always)]
    pub fn tell(&self, index: usize, leave: impl FnOnce(&'r N::Thread)) {
        let nodes = self.nodes;
        let node = &nodes[index];
        leave(node.thread());
        if node.word().signal_own() {
            self.scheduler.ready(nodes, index as u32);
        }
    }

    /// Returns the next thread to poll, and counts the poll; `None` when no thread can run.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<u32> {
        loop {
            let thread = self.scheduler.next(self.nodes)?;
            let node = &self.nodes[thread as usize];
            if !node.leave_queue() {
                cold_path();
                if node.word().is_finished() {
                    // The thread finished while it was in the ready queue.
                    continue;
                }
                self.wasted_polls.set(self.wasted_polls.get() + 1);
            }
            return Some(thread);
        }
    }

    /// Returns the number of polls and the states of the threads so far.
    pub fn report(&self) -> Report {
        let finished = self.nodes.iter().filter(|node| node.word().is_finished()).count();
        Report { wasted_polls: self.wasted_polls.get(), finished, waiting: self.nodes.len() - finished }
    }
}

/// Tries to complete a wait, and otherwise enlists the thread.
///
/// `take` completes it if that is possible; `enlist` adds the thread to the list of waiters.
#[inline(always)]
pub(crate) fn wait<N: Node>(node: &N, take: impl FnOnce() -> bool, enlist: impl FnOnce()) -> Poll<()> {
    let word = node.word();
    if word.is_free() {
        if take() {
            return Poll::Ready(());
        }
        enlist();
        return Poll::Pending;
    }
    if word.is_granted() {
        word.set_free();
        return Poll::Ready(());
    }
    Poll::Pending
}

/// The polls of a run, and the states of the threads after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of spurious polls: polls of threads that had no reason to run, which are the cost of a polling
    /// scheduler. Spurious wake-ups of an async thread are not included, because the scheduler cannot detect them.
    pub wasted_polls: u64,
    /// Number of threads that have finished, in this run or before it.
    pub finished: usize,
    /// Number of threads that have not finished. Only a signal from outside can make them run.
    pub waiting: usize,
}
