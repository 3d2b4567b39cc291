//! Dave Dice and Alex Kogan, "Compact NUMA-aware Locks", EuroSys 2019.

use super::Algorithm;
use super::queues::enqueue;
use crate::machine::{Machine, Until, Word};
use crate::thread::Thread;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// One in this many handoffs goes to the queue of the other nodes, as in the registry's lock.
const EVERY: u64 = 0x1_0000;

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
