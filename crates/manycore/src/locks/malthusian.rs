//! Dave Dice, "Malthusian Locks", EuroSys 2017: an MCS lock that keeps surplus waiters in a passive list.

use super::Algorithm;
use crate::machine::{Machine, Ps, Until, Word, ps};
use crate::thread::{PAUSE_NS, Thread};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// One in this many releases promotes the oldest passive thread, as in the registry's lock.
const EVERY: u64 = 1_000;
/// The spins before a waiter blocks, in pauses, as in the registry's lock.
const ROUNDS: f64 = 700.0;

const WAITING: u64 = 0;
const SIGNALLED: u64 = 1;
const SLEEPING: u64 = 2;

pub struct Malthusian {
    tail: Word,
    /// The link to the next node, and next to it, the word on which the thread waits.
    nodes: Vec<Word>,
    /// The passive threads, oldest first.
    passive: RefCell<VecDeque<usize>>,
    releases: Cell<u64>,
}

impl Algorithm for Malthusian {
    fn new(machine: &mut Machine, threads: usize) -> Self {
        Self {
            tail: machine.line(),
            nodes: (0..threads).map(|_| machine.line()).collect(),
            passive: RefCell::default(),
            releases: Cell::new(0),
        }
    }

    async fn acquire(&self, thread: &Thread) {
        let own = self.nodes[thread.id()];
        thread.store(own, 0).await;
        thread.store(own.neighbour(1), WAITING).await;
        let before = thread.swap(self.tail, thread.id() as u64 + 1).await;
        if before == 0 {
            return;
        }
        thread.store(self.nodes[before as usize - 1], thread.id() as u64 + 1).await;
        let turn = own.neighbour(1);
        let limit: Ps = ps(ROUNDS * PAUSE_NS);
        if thread.spin_for(turn, Until::Is(SIGNALLED), limit).await == SIGNALLED
            || !thread.replace(turn, WAITING, SLEEPING).await
        {
            return;
        }
        while thread.load(turn).await != SIGNALLED {
            thread.sleep(turn, SLEEPING).await;
        }
    }

    async fn release(&self, thread: &Thread) {
        let own = self.nodes[thread.id()];
        self.releases.set(self.releases.get() + 1);
        if self.releases.get().is_multiple_of(EVERY) {
            let oldest = self.passive.borrow_mut().pop_front();
            if let Some(oldest) = oldest {
                self.insert(thread, oldest).await;
                self.hand_off(thread, oldest).await;
                return;
            }
        }
        let mut next = thread.load(own).await as usize;
        if next == 0 {
            let newest = self.passive.borrow_mut().pop_back();
            if let Some(newest) = newest {
                thread.store(self.nodes[newest], 0).await;
            }
            if thread.replace(self.tail, thread.id() as u64 + 1, newest.map_or(0, |node| node as u64 + 1)).await {
                if let Some(newest) = newest {
                    self.hand_off(thread, newest).await;
                }
                return;
            }
            self.passive.borrow_mut().extend(newest);
            next = thread.spin(own, Until::IsNot(0)).await as usize;
        }
        let second = thread.load(self.nodes[next - 1]).await as usize;
        if second == 0 {
            self.hand_off(thread, next - 1).await;
        } else {
            self.passive.borrow_mut().push_back(next - 1);
            self.hand_off(thread, second - 1).await;
        }
    }
}

impl Malthusian {
    /// Makes a passive node the first waiter behind the holder's.
    async fn insert(&self, thread: &Thread, node: usize) {
        let own = self.nodes[thread.id()];
        thread.store(self.nodes[node], 0).await;
        let mut next = thread.load(own).await;
        if next == 0 {
            if thread.replace(self.tail, thread.id() as u64 + 1, node as u64 + 1).await {
                return;
            }
            next = thread.spin(own, Until::IsNot(0)).await;
        }
        thread.store(self.nodes[node], next).await;
    }

    async fn hand_off(&self, thread: &Thread, to: usize) {
        let turn = self.nodes[to].neighbour(1);
        if thread.swap(turn, SIGNALLED).await == SLEEPING {
            thread.wake_one(turn).await;
        }
    }
}
