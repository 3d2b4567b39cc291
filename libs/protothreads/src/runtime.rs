//! The threads, what they share, and the scheduler that picks the next.

use crate::{
    node::{MOST_THREADS, Node},
    schedulers::Scheduler,
};
use core::{cell::Cell, hint::cold_path, task::Poll};

/// The threads, what they share, and their scheduler.
///
/// `N` is a [`Slot`](crate::Slot) (hand-written threads) or a [`Link`](crate::Link) (async threads), `S` the
/// [`Scheduler`], `W` what the threads share. All storage is the user's. A runtime belongs to one OS thread.
#[derive(Debug)]
pub struct Runtime<'r, N, S, W = ()> {
    pub(crate) nodes: &'r [N],
    pub(crate) scheduler: S,
    shared: &'r W,
    wasted_polls: Cell<u64>,
}

impl<'r, N: Node, S: Scheduler, W> Runtime<'r, N, S, W> {
    /// A runtime for these threads.
    ///
    /// # Panics
    /// If there are more than [`MOST_THREADS`].
    pub fn new(nodes: &'r [N], scheduler: S, shared: &'r W) -> Self {
        assert!(nodes.len() <= MOST_THREADS, "a runtime has at most {MOST_THREADS} threads, not {}", nodes.len());
        Self { nodes, scheduler, shared, wasted_polls: Cell::new(0) }
    }

    /// What the threads share.
    #[inline(always)]
    pub fn shared(&self) -> &'r W {
        self.shared
    }

    /// A thread: all of it if it is hand-written, and what its [`Link`](crate::Link) has if it is async.
    ///
    /// # Panics
    /// If there is no thread of that number.
    #[inline(always)]
    pub fn thread(&self, index: usize) -> &'r N::Thread {
        self.nodes[index].thread()
    }

    /// How many threads there are, finished ones included.
    #[inline(always)]
    pub fn thread_count(&self) -> usize {
        self.nodes.len()
    }

    /// The node of a thread whose handle asks for it: `thread` must be the number in a [`Handle`](crate::Handle) of
    /// this runtime.
    #[inline(always)]
    pub(crate) fn own_node(&self, thread: u32) -> &'r N {
        debug_assert!((thread as usize) < self.nodes.len());
        // SAFETY: `Handle::new` checked the number against this runtime's slice, which never changes.
        unsafe { self.nodes.get_unchecked(thread as usize) }
    }

    /// Reports to the scheduler that a thread can run, unless it knows.
    #[inline(always)]
    pub(crate) fn make_ready(&self, thread: u32) {
        let word = self.nodes[thread as usize].word();
        if !word.is_queued() {
            word.set_queued();
            self.scheduler.ready(self.nodes, thread);
        }
    }

    /// Gives a thread what it waited for; it is in no wait list any more.
    #[inline(always)]
    pub(crate) fn grant(&self, thread: u32) {
        self.nodes[thread as usize].word().set_granted();
        self.make_ready(thread);
    }

    /// Gives a unit to thread `index`'s own semaphore.
    ///
    /// # Panics
    /// If there is no thread of that number, or its semaphore has [`MOST_OWN_UNITS`](crate::MOST_OWN_UNITS).
    #[inline(always)]
    pub fn signal(&self, index: usize) {
        self.tell(index, |_| ());
    }

    /// Leaves something with thread `index`, and gives a unit to its own semaphore.
    ///
    /// # Panics
    /// As [`signal`](Self::signal).
    #[inline(always)]
    pub fn tell(&self, index: usize, leave: impl FnOnce(&'r N::Thread)) {
        let nodes = self.nodes;
        let node = &nodes[index];
        leave(node.thread());
        if node.word().signal_own() {
            self.scheduler.ready(nodes, index as u32);
        }
    }

    /// The next thread to poll; none when no thread can run. Counts the poll.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<u32> {
        loop {
            let thread = self.scheduler.next(self.nodes)?;
            let node = &self.nodes[thread as usize];
            if !node.leave_queue() {
                cold_path();
                if node.word().is_finished() {
                    // It finished while it was in the ready queue.
                    continue;
                }
                self.wasted_polls.set(self.wasted_polls.get() + 1);
            }
            return Some(thread);
        }
    }

    /// The polls and the states of the threads so far.
    pub fn report(&self) -> Report {
        let finished = self.nodes.iter().filter(|node| node.word().is_finished()).count();
        Report { wasted_polls: self.wasted_polls.get(), finished, waiting: self.nodes.len() - finished }
    }
}

/// What a thread does about something that it may have to wait for.
///
/// `take` takes it if it is there; `enlist` puts the thread into the list of those who wait for it.
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

/// What a run did, and how it left the threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Polls of threads that had no reason to run: what a polling scheduler costs. An async thread that was woken for
    /// nothing is not among them, for the scheduler cannot know.
    pub wasted_polls: u64,
    /// Threads that have finished, in this run or before it.
    pub finished: usize,
    /// Threads that have not. Nothing but a signal from outside can make them run.
    pub waiting: usize,
}
