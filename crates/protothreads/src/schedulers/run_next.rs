//! The thread that became ready last runs next, while its data is in the cache; the others are not forgotten.
//!
//! There is one queue. A thread that becomes ready goes to its front, and after so many of those in a row one goes to its
//! end. Why nobody starves: in T polls at most T + N threads become ready, since each of the N is in the queue once.
//! Of these, one in `turns` + 1 goes to the end. So the number before a thread shrinks by at least T / (`turns` + 1) − N,
//! and it runs within 2·N·(`turns` + 1) polls.
use core::{cell::Cell, hint::cold_path};

use crate::{node::Node, scheduler::Scheduler, schedulers::Fifo};

/// Polls the thread that became ready last; others wait their turn.
///
/// No thread starves: of `turns` + 1 threads that become ready while others wait, one goes to the end of the queue.
#[derive(Debug)]
pub struct RunNext {
    queue: Fifo,
    left: Cell<u32>,
    turns: u32,
}

impl RunNext {
    /// At most 61 threads in a row go before those that wait: a prime, so that it falls into step with nothing.
    pub const fn new() -> Self {
        Self::with_turns(61)
    }

    /// At most `turns` threads in a row go before those that wait. With 0 it is a [`Fifo`].
    pub const fn with_turns(turns: u32) -> Self {
        Self { queue: Fifo::new(), left: Cell::new(turns), turns }
    }
}

impl Default for RunNext {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheduler for RunNext {
    #[inline(always)]
    fn ready<N: Node>(&self, nodes: &[N], thread: u32) {
        if self.queue.is_empty() {
            return self.queue.push_back(nodes, thread);
        }
        cold_path();
        if self.left.get() > 0 {
            self.left.set(self.left.get() - 1);
            self.queue.push_front(nodes, thread);
        } else {
            self.left.set(self.turns);
            self.queue.push_back(nodes, thread);
        }
    }

    #[inline(always)]
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        self.queue.pop(nodes)
    }
}
