//! First ready, first polled.
use core::{cell::Cell, hint::cold_path};

use crate::{node::Node, scheduler::Scheduler, word::NONE};

/// A ready queue: first ready, first polled. Three words; the threads' own words link them.
///
/// No thread starves: before a thread that is ready runs, every other is polled at most once.
#[derive(Debug)]
pub struct Fifo {
    /// The front has a word of its own: a token that travels alone touches no other.
    front: Cell<u32>,
    /// Those behind the front; none if that is.
    second: Cell<u32>,
    /// Valid if there is a second.
    last: Cell<u32>,
}

impl Fifo {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { front: Cell::new(NONE), second: Cell::new(NONE), last: Cell::new(NONE) }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.front.get() == NONE
    }

    #[inline(always)]
    pub(crate) fn push_back<N: Node>(&self, nodes: &[N], thread: u32) {
        if self.is_empty() {
            return self.front.set(thread);
        }
        // Long queues are not rare, but there the memory decides; with a short one every cycle shows.
        cold_path();
        if self.second.get() == NONE {
            self.second.set(thread);
        } else {
            nodes[self.last.get() as usize].behind().set_next(thread);
        }
        self.last.set(thread);
    }

    /// The queue must not be empty.
    #[inline(always)]
    pub(crate) fn push_front<N: Node>(&self, nodes: &[N], thread: u32) {
        let front = self.front.replace(thread);
        if self.second.get() == NONE {
            self.last.set(front);
        } else {
            nodes[front as usize].behind().set_next(self.second.get());
        }
        self.second.set(front);
    }

    #[inline(always)]
    pub(crate) fn pop<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        let thread = self.front.replace(NONE);
        let second = self.second.get();
        if second != NONE {
            cold_path();
            self.front.set(second);
            let third = if second == self.last.get() { NONE } else { nodes[second as usize].behind().next() };
            self.second.set(third);
        }
        (thread != NONE).then_some(thread)
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
