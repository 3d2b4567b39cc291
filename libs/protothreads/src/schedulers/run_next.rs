//! The thread that became ready last runs next, while its data is in the cache; the others are not forgotten.
//!
//! There is one queue. A thread that becomes ready goes to its front, and after so many of those in a row one goes to
//! its end. Why nobody starves: in T polls at most T + N threads become ready, since each of the N is in the queue
//! once. Of these, one in 62 goes to the end. So the number before a thread shrinks by at least T / 62 − N, and it runs
//! within 124·N polls.
use core::{cell::Cell, hint::cold_path};

use crate::{node::Node, scheduler::Scheduler, schedulers::Fifo};

/// Polls the thread that became ready last; others wait their turn.
///
/// No thread starves: of 62 threads that become ready while others wait, one goes to the end of the queue.
#[derive(Debug)]
pub struct RunNext {
    queue: Fifo,
    left: Cell<u32>,
}

/// A prime, so that it falls into step with nothing.
const TURNS: u32 = 61;

impl RunNext {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { queue: Fifo::new(), left: Cell::new(TURNS) }
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
            self.left.set(TURNS);
            self.queue.push_back(nodes, thread);
        }
    }

    #[inline(always)]
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        self.queue.pop(nodes)
    }
}
