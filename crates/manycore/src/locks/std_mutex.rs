//! `std::sync::Mutex` of Rust on Linux: a futex with three states, and a spin of 100 pauses.

use super::Algorithm;
use crate::machine::{Machine, Until, Word, ps};
use crate::thread::{PAUSE_NS, Thread};

const FREE: u64 = 0;
const HELD: u64 = 1;
const CONTENDED: u64 = 2;
/// The pauses before a waiter blocks.
const ROUNDS: f64 = 100.0;

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
