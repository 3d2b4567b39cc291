//! Queue locks: each waiter spins on its own line.

use super::Algorithm;
use crate::machine::{Machine, Until, Word};
use crate::thread::Thread;
use std::cell::Cell;

/// John Mellor-Crummey and Michael Scott, "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors",
/// 1991.
pub struct Mcs {
    tail: Word,
    /// The link to the next node, and next to it, whether the thread waits.
    nodes: Vec<Word>,
}

/// Adds the thread's node to the queue of an MCS lock, and waits until the thread before it grants the lock.
pub(super) async fn enqueue(thread: &Thread, tail: Word, nodes: &[Word]) {
    let own = nodes[thread.id()];
    thread.store(own, 0).await;
    thread.store(own.neighbour(1), 1).await;
    let before = thread.swap(tail, thread.id() as u64 + 1).await;
    if before != 0 {
        thread.store(nodes[before as usize - 1], thread.id() as u64 + 1).await;
        thread.spin(own.neighbour(1), Until::Is(0)).await;
    }
}

impl Algorithm for Mcs {
    fn new(machine: &mut Machine, threads: usize) -> Self {
        Self { tail: machine.line(), nodes: (0..threads).map(|_| machine.line()).collect() }
    }

    async fn acquire(&self, thread: &Thread) {
        enqueue(thread, self.tail, &self.nodes).await;
    }

    async fn release(&self, thread: &Thread) {
        let own = self.nodes[thread.id()];
        let mut next = thread.load(own).await;
        if next == 0 {
            if thread.replace(self.tail, thread.id() as u64 + 1, 0).await {
                return;
            }
            next = thread.spin(own, Until::IsNot(0)).await;
        }
        thread.store(self.nodes[next as usize - 1].neighbour(1), 0).await;
    }
}

/// Travis Craig, 1993; Anders Landin and Erik Hagersten, 1994. A thread takes the node of its predecessor with it.
pub struct Clh {
    tail: Word,
    /// Whether the thread that enqueued the node waits or holds the lock.
    nodes: Vec<Word>,
    /// The node of each thread, and the one that it will have after the release.
    own: Vec<Cell<usize>>,
    before: Vec<Cell<usize>>,
}

impl Algorithm for Clh {
    fn new(machine: &mut Machine, threads: usize) -> Self {
        Self {
            tail: machine.line(),
            nodes: (0..=threads).map(|_| machine.line()).collect(),
            // The tail of 0 is node 0, which no thread has.
            own: (1..=threads).map(Cell::new).collect(),
            before: (0..threads).map(|_| Cell::new(0)).collect(),
        }
    }

    async fn acquire(&self, thread: &Thread) {
        let own = self.own[thread.id()].get();
        thread.store(self.nodes[own], 1).await;
        let before = thread.swap(self.tail, own as u64).await as usize;
        self.before[thread.id()].set(before);
        thread.spin(self.nodes[before], Until::Is(0)).await;
    }

    async fn release(&self, thread: &Thread) {
        let own = self.own[thread.id()].replace(self.before[thread.id()].get());
        thread.store(self.nodes[own], 0).await;
    }
}
