//! Dave Dice and Alex Kogan, "Reciprocating Locks", PPoPP 2025 (arXiv 2501.02380), listing 1.

use super::Algorithm;
use crate::machine::{Machine, Until, Word};
use crate::thread::Thread;
use std::cell::Cell;

/// The value for a held lock without arrivals.
const EMPTY: u64 = u64::MAX;

/// The position of an acquisition in its segment: its successor, and the end.
type Position = (u64, u64);

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
