//! Locks on which all waiters spin: test-and-test-and-set, the ticket lock, and `std::sync::Mutex`, whose waiters then
//! block.

use super::Algorithm;
use crate::machine::{Machine, Until, Word, ps};
use crate::thread::{PAUSE_NS, Thread};

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

const FREE: u64 = 0;
const HELD: u64 = 1;
const CONTENDED: u64 = 2;
/// The pauses before a waiter blocks.
const ROUNDS: f64 = 100.0;

/// `std::sync::Mutex` of Rust on Linux: a futex with three states, and a spin of 100 pauses.
pub struct Std {
    state: Word,
}

impl Algorithm for Std {
    fn new(machine: &mut Machine, _: usize) -> Self {
        Self { state: machine.line() }
    }

    async fn acquire(&self, thread: &Thread) {
        if thread.replace(self.state, FREE, HELD).await {
            return;
        }
        let mut state = self.spin(thread).await;
        if state == FREE {
            if thread.replace(self.state, FREE, HELD).await {
                return;
            }
            state = thread.load(self.state).await;
        }
        loop {
            if state != CONTENDED && thread.swap(self.state, CONTENDED).await == FREE {
                return;
            }
            thread.sleep(self.state, CONTENDED).await;
            state = self.spin(thread).await;
        }
    }

    async fn release(&self, thread: &Thread) {
        if thread.swap(self.state, FREE).await == CONTENDED {
            thread.wake_one(self.state).await;
        }
    }
}

impl Std {
    /// Spins while the lock is held and no thread is blocked.
    async fn spin(&self, thread: &Thread) -> u64 {
        thread.spin_for(self.state, Until::IsNot(HELD), ps(ROUNDS * PAUSE_NS)).await
    }
}
