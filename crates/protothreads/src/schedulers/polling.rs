//! Polling: every thread, whether it can run or not, in one order or another.
//!
//! This is what the function that calls all protothreads in turn does. No thread starves: each is polled once a round.
//! When no thread can run the round ends early, for nothing but a thread could change that.
use core::cell::Cell;

use crate::{node::Node, scheduler::Scheduler};

/// Polls all threads in order, again and again: the optimum for a token that travels from each thread to the next.
#[derive(Debug, Default)]
pub struct InOrder {
    ready: Cell<u32>,
    at: Cell<u32>,
}

impl InOrder {
    /// Begins with thread 0.
    pub const fn new() -> Self {
        Self { ready: Cell::new(0), at: Cell::new(0) }
    }
}

impl Scheduler for InOrder {
    #[inline(always)]
    fn ready<N: Node>(&self, _: &[N], _: u32) {
        self.ready.set(self.ready.get() + 1);
    }

    #[inline(always)]
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        poll_one(nodes, &self.ready, || {
            let at = self.at.get();
            let next = at + 1;
            self.at.set(if next as usize >= nodes.len() { 0 } else { next });
            at
        })
    }
}

/// Polls all threads in reverse order: the pessimum for a token that travels from each thread to the next, which then
/// advances by one thread in a round.
#[derive(Debug, Default)]
pub struct Reverse {
    ready: Cell<u32>,
    at: Cell<u32>,
}

impl Reverse {
    /// Begins with the last thread.
    pub const fn new() -> Self {
        Self { ready: Cell::new(0), at: Cell::new(0) }
    }
}

impl Scheduler for Reverse {
    #[inline(always)]
    fn ready<N: Node>(&self, _: &[N], _: u32) {
        self.ready.set(self.ready.get() + 1);
    }

    #[inline(always)]
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        poll_one(nodes, &self.ready, || {
            let at = self.at.get();
            let at = if at == 0 { nodes.len() as u32 - 1 } else { at - 1 };
            self.at.set(at);
            at
        })
    }
}

/// Polls all threads, each round in another order.
///
/// A round is a walk with a random start and a random stride that has no factor in common with the number of threads: it
/// meets each thread once, and needs no memory. That is not any order with equal chance.
#[derive(Debug)]
pub struct Random {
    ready: Cell<u32>,
    state: Cell<u64>,
    at: Cell<u32>,
    stride: Cell<u32>,
    left: Cell<u32>,
}

impl Random {
    /// The seed determines all orders.
    pub const fn seeded(seed: u64) -> Self {
        Self {
            ready: Cell::new(0),
            state: Cell::new(seed),
            at: Cell::new(0),
            stride: Cell::new(1),
            left: Cell::new(0),
        }
    }

    /// A number below `bound`, by SplitMix64 (Steele, Lea and Flood, 2014) and multiplication.
    fn below(&self, bound: u32) -> u32 {
        self.state.set(self.state.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut mixed = self.state.get();
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((mixed >> 32) * u64::from(bound) >> 32) as u32
    }

    fn begin_round(&self, threads: u32) {
        self.at.set(self.below(threads));
        let stride = loop {
            let stride = 1 + self.below(threads);
            if greatest_common_divisor(stride, threads) == 1 {
                break stride;
            }
        };
        self.stride.set(stride);
        self.left.set(threads);
    }
}

impl Scheduler for Random {
    #[inline(always)]
    fn ready<N: Node>(&self, _: &[N], _: u32) {
        self.ready.set(self.ready.get() + 1);
    }

    #[inline(always)]
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        let threads = nodes.len() as u32;
        poll_one(nodes, &self.ready, || {
            if self.left.get() == 0 {
                self.begin_round(threads);
            }
            self.left.set(self.left.get() - 1);
            let at = self.at.get();
            let next = at + self.stride.get();
            self.at.set(if next >= threads { next - threads } else { next });
            at
        })
    }
}

const fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The next thread of a walk that has not finished; none when none can run.
#[inline(always)]
fn poll_one<N: Node>(nodes: &[N], ready: &Cell<u32>, walk: impl Fn() -> u32) -> Option<u32> {
    if ready.get() == 0 {
        return None;
    }
    loop {
        let thread = walk();
        let node = &nodes[thread as usize];
        if node.ready().is_queued() {
            ready.set(ready.get() - 1);
            return Some(thread);
        }
        if !node.waiting().is_finished() {
            return Some(thread);
        }
    }
}
