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

/// Polls all threads, each round in another random order.
///
/// The order is a small block cipher (Luby and Rackoff, 1988) of the places in the round, with a key for each round:
/// each thread comes once, and no memory is needed.
#[derive(Debug)]
pub struct Random {
    ready: Cell<u32>,
    seed: u64,
    key: Cell<u64>,
    at: Cell<u32>,
}

impl Random {
    /// The seed determines all orders.
    pub const fn seeded(seed: u64) -> Self {
        Self { ready: Cell::new(0), seed, key: Cell::new(mix(seed)), at: Cell::new(0) }
    }

    /// Who is polled at this place of the round.
    fn permuted(&self, place: u32, threads: u32) -> u32 {
        // Two halves of as many bits as it takes; what comes out too great is encrypted again.
        let half_bits = threads.next_power_of_two().ilog2().div_ceil(2);
        let mask = (1 << half_bits) - 1;
        let mut value = place;
        loop {
            for round in 0..4 {
                let (left, right) = (value >> half_bits, value & mask);
                let key = (self.key.get() >> (16 * round)) as u32;
                let scrambled = (right ^ key).wrapping_mul(0x9e37_79b1) >> 16 & mask;
                value = right << half_bits | (left ^ scrambled);
            }
            if value < threads {
                return value;
            }
        }
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
            let at = self.at.get();
            if at + 1 < threads {
                self.at.set(at + 1);
                return self.permuted(at, threads);
            }
            let thread = self.permuted(at, threads);
            self.at.set(0);
            self.key.set(mix(self.key.get() ^ self.seed));
            thread
        })
    }
}

/// One step of SplitMix64 (Steele, Lea and Flood, 2014).
const fn mix(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
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
        if node.word().is_queued() {
            ready.set(ready.get() - 1);
            return Some(thread);
        }
        if !node.word().is_finished() {
            return Some(thread);
        }
    }
}
