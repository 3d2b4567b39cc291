//! First ready, first polled.
use core::{cell::Cell, hint::cold_path};

use crate::{node::Node, scheduler::Scheduler, word::NONE};

/// A ready queue: first ready, first polled. Two words; the threads' own words link them.
///
/// No thread starves: before a thread that is ready runs, every other is polled at most once.
#[derive(Debug)]
pub struct Fifo {
    first: Cell<u32>,
    last: Cell<u32>,
}

impl Fifo {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { first: Cell::new(NONE), last: Cell::new(NONE) }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.get() == NONE
    }

    #[inline(always)]
    pub(crate) fn push_back<N: Node>(&self, nodes: &[N], thread: u32) {
        if self.is_empty() {
            self.first.set(thread);
        } else {
            // Long queues are not rare, but there the memory decides; with a short one every cycle shows.
            cold_path();
            nodes[self.last.get() as usize].ready().set_next(thread);
        }
        self.last.set(thread);
    }

    #[inline(always)]
    pub(crate) fn push_front<N: Node>(&self, nodes: &[N], thread: u32) {
        if self.is_empty() {
            self.last.set(thread);
        } else {
            nodes[thread as usize].ready().set_next(self.first.get());
        }
        self.first.set(thread);
    }

    #[inline(always)]
    pub(crate) fn pop<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        let thread = self.first.get();
        if thread == NONE {
            return None;
        }
        if thread == self.last.get() {
            self.first.set(NONE);
        } else {
            cold_path();
            self.first.set(nodes[thread as usize].ready().next());
        }
        Some(thread)
    }
}

impl Default for Fifo {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheduler for Fifo {
    #[inline(always)]
    fn ready<N: Node>(&self, nodes: &[N], thread: u32) {
        self.push_back(nodes, thread);
    }

    #[inline(always)]
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        self.pop(nodes)
    }
}
