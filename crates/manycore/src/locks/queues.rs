//! Queue locks: each waiter spins on a word that no other waiter spins on.

use super::Algorithm;
use crate::machine::{Machine, Until, Word};
use crate::thread::Thread;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// John Mellor-Crummey and Michael Scott, "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors",
/// 1991.
pub struct Mcs {
    tail: Word,
    /// The link to the next node, and next to it, whether the thread waits.
    nodes: Vec<Word>,
}

/// Adds the thread's node to the queue of an MCS lock, and waits until the thread before it grants the lock.
async fn enqueue(thread: &Thread, tail: Word, nodes: &[Word]) {
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

/// One in this many handoffs goes to the queue of the other nodes, as in the registry's lock.
const EVERY: u64 = 0x1_0000;

/// Dave Dice and Alex Kogan, "Compact NUMA-aware Locks", EuroSys 2019.
pub struct Cna {
    tail: Word,
    /// The link to the next node, and next to it, whether the thread waits.
    nodes: Vec<Word>,
    /// The NUMA nodes from which the waiting threads have arrived.
    numa: Vec<Cell<usize>>,
    /// The waiters of other NUMA nodes, oldest first.
    secondary: RefCell<VecDeque<usize>>,
    handoffs: Cell<u64>,
}

impl Algorithm for Cna {
    fn new(machine: &mut Machine, threads: usize) -> Self {
        Self {
            tail: machine.line(),
            nodes: (0..threads).map(|_| machine.line()).collect(),
            numa: vec![Cell::new(0); threads],
            secondary: RefCell::default(),
            handoffs: Cell::new(0),
        }
    }

    async fn acquire(&self, thread: &Thread) {
        self.numa[thread.id()].set(thread.node());
        enqueue(thread, self.tail, &self.nodes).await;
    }

    async fn release(&self, thread: &Thread) {
        let own = self.nodes[thread.id()];
        let mut next = thread.load(own).await as usize;
        if next == 0 {
            let (first, last) = {
                let secondary = self.secondary.borrow();
                (secondary.front().copied(), secondary.back().copied())
            };
            let new = last.map_or(0, |last| last as u64 + 1);
            if thread.replace(self.tail, thread.id() as u64 + 1, new).await {
                if let Some(first) = first {
                    self.secondary.borrow_mut().clear();
                    self.grant(thread, first).await;
                }
                return;
            }
            next = thread.spin(own, Until::IsNot(0)).await as usize;
        }
        let next = next - 1;
        self.handoffs.set(self.handoffs.get() + 1);
        let local = if self.handoffs.get().is_multiple_of(EVERY) { None } else { self.local(thread, next).await };
        let first = self.secondary.borrow().front().copied();
        match (local, first) {
            (Some(local), _) => self.grant(thread, local).await,
            (None, None) => self.grant(thread, next).await,
            (None, Some(first)) => {
                let last = self.secondary.borrow_mut().drain(..).next_back().expect("it has a first");
                thread.store(self.nodes[last], next as u64 + 1).await;
                self.grant(thread, first).await;
            }
        }
    }
}

impl Cna {
    /// Returns the first waiter of the thread's NUMA node; those before it go to the secondary queue.
    async fn local(&self, thread: &Thread, first: usize) -> Option<usize> {
        let (mut passed, mut current) = (Vec::new(), first);
        while self.numa[current].get() != self.numa[thread.id()].get() {
            passed.push(current);
            let next = thread.load(self.nodes[current]).await as usize;
            if next == 0 {
                return None;
            }
            current = next - 1;
        }
        if let Some(last) = passed.last() {
            let before = self.secondary.borrow().back().copied();
            if let Some(before) = before {
                thread.store(self.nodes[before], passed[0] as u64 + 1).await;
            }
            thread.store(self.nodes[*last], 0).await;
            self.secondary.borrow_mut().extend(passed);
        }
        Some(current)
    }

    async fn grant(&self, thread: &Thread, to: usize) {
        thread.store(self.nodes[to].neighbour(1), 0).await;
    }
}

/// The value for a held lock without arrivals.
const EMPTY: u64 = u64::MAX;

/// The position of an acquisition in its segment: its successor, and the end.
type Position = (u64, u64);

/// Dave Dice and Alex Kogan, "Reciprocating Locks", PPoPP 2025 (arXiv 2501.02380), listing 1.
pub struct Reciprocating {
    arrivals: Word,
    gates: Vec<Word>,
    positions: Vec<Cell<Position>>,
}

impl Algorithm for Reciprocating {
    fn new(machine: &mut Machine, threads: usize) -> Self {
        Self {
            arrivals: machine.line(),
            gates: (0..threads).map(|_| machine.line()).collect(),
            positions: vec![Cell::new((0, 0)); threads],
        }
    }

    async fn acquire(&self, thread: &Thread) {
        let (own, gate) = (thread.id() as u64 + 1, self.gates[thread.id()]);
        thread.store(gate, 0).await;
        let before = thread.swap(self.arrivals, own).await;
        let position = if before == 0 {
            (0, own)
        } else {
            let successor = if before == EMPTY { 0 } else { before };
            let end = thread.spin(gate, Until::IsNot(0)).await;
            if successor == end { (0, EMPTY) } else { (successor, end) }
        };
        self.positions[thread.id()].set(position);
    }

    async fn release(&self, thread: &Thread) {
        let (successor, end) = self.positions[thread.id()].get();
        if successor != 0 {
            thread.store(self.gates[successor as usize - 1], end).await;
        } else if !thread.replace(self.arrivals, end, 0).await {
            let newest = thread.swap(self.arrivals, EMPTY).await;
            thread.store(self.gates[newest as usize - 1], end).await;
        }
    }
}
