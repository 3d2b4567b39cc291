//! Locks on which all waiters spin: test-and-test-and-set, and the ticket lock.

use super::Algorithm;
use crate::machine::{Machine, Until, Word};
use crate::thread::Thread;

/// Test-and-test-and-set without backoff.
pub struct Ttas {
    held: Word,
}

impl Algorithm for Ttas {
    fn new(machine: &mut Machine, _: usize) -> Self {
        Self { held: machine.line() }
    }

    async fn acquire(&self, thread: &Thread) {
        while thread.swap(self.held, 1).await != 0 {
            thread.spin(self.held, Until::Is(0)).await;
        }
    }

    async fn release(&self, thread: &Thread) {
        thread.store(self.held, 0).await;
    }
}

/// Both numbers are in one line, as in `ulocks`.
pub struct Ticket {
    next: Word,
    serving: Word,
}

impl Algorithm for Ticket {
    fn new(machine: &mut Machine, _: usize) -> Self {
        let next = machine.line();
        Self { next, serving: next.neighbour(1) }
    }

    async fn acquire(&self, thread: &Thread) {
        let own = thread.add(self.next, 1).await;
        thread.spin(self.serving, Until::Is(own)).await;
    }

    async fn release(&self, thread: &Thread) {
        let own = thread.load(self.serving).await;
        thread.store(self.serving, own + 1).await;
    }
}
