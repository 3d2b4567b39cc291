//! The trait of schedulers, and the schedulers.

use crate::{node::Node, word::NONE};
use core::{cell::Cell, hint::cold_path};

/// A policy that selects the thread that is polled next.
///
/// Schedulers are values, and each of them can run any threads. [`Fifo`](crate::Fifo), [`RunNext`](crate::RunNext)
/// and [`Bitmap`](crate::Bitmap) poll only threads that can run. [`InOrder`](crate::InOrder),
/// [`Reverse`](crate::Reverse) and [`Random`](crate::Random) poll all of them, as protothreads in C do, and most of
/// their polls may be spurious.
pub trait Scheduler {
    /// Records that a thread can run; called once for each time that the thread is polled with a reason.
    fn ready<N: Node>(&self, nodes: &[N], thread: u32);

    /// Returns the thread to poll now; `None` when no thread can run.
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32>;
}

impl<S: Scheduler> Scheduler for &S {
    #[inline(always)]
    fn ready<N: Node>(&self, nodes: &[N], thread: u32) {
        S::ready(self, nodes, thread);
    }

    #[inline(always)]
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        S::next(self, nodes)
    }
}

/// A ready queue: first ready, first polled. It takes three words; the threads' own words link them.
///
/// No thread starves: before a ready thread runs, every other is polled at most once.
#[derive(Debug)]
pub struct Fifo {
    /// Front of the queue. It has a separate word, so that a token that travels alone accesses no other word.
    front: Cell<u32>,
    /// First thread behind the front, or none.
    second: Cell<u32>,
    /// Last thread, valid if there is a second.
    last: Cell<u32>,
}

impl Fifo {
    /// Returns an empty queue.
    pub const fn new() -> Self {
        Self { front: Cell::new(NONE), second: Cell::new(NONE), last: Cell::new(NONE) }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.front.get() == NONE
    }

    #[inline(always)]
    pub(crate) fn push_back<N: Node>(&self, nodes: &[N], thread: u32) {
        if self.is_empty() {
            return self.front.set(thread);
        }
        // Long queues are not rare, but memory dominates their cost; with a short one every cycle matters.
        cold_path();
        if self.second.get() == NONE {
            self.second.set(thread);
        } else {
            nodes[self.last.get() as usize].behind().set_next(thread);
        }
        self.last.set(thread);
    }

    /// Inserts a thread at the front. The queue must not be empty.
    #[inline(always)]
    pub(crate) fn push_front<N: Node>(&self, nodes: &[N], thread: u32) {
        let front = self.front.replace(thread);
        if self.second.get() == NONE {
            self.last.set(front);
        } else {
            nodes[front as usize].behind().set_next(self.second.get());
        }
        self.second.set(front);
    }

    #[inline(always)]
    pub(crate) fn pop<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        let thread = self.front.replace(NONE);
        let second = self.second.get();
        if second != NONE {
            cold_path();
            self.front.set(second);
            let third = if second == self.last.get() { NONE } else { nodes[second as usize].behind().next() };
            self.second.set(third);
        }
        (thread != NONE).then_some(thread)
    }
}

impl Default for Fifo {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheduler for Fifo {
    #[inline(always)]
    fn ready<N: Node>(&self, nodes: &[N], thread: u32) {
        self.push_back(nodes, thread);
    }

    #[inline(always)]
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        self.pop(nodes)
    }
}

// The thread that became ready last runs next, while its data is in the cache, with a bound for the others.
//
// There is one queue. A thread that becomes ready is inserted at its front, and after [`TURNS`] consecutive
// insertions one thread is appended to its end. No thread starves. In T polls at most T + N threads become ready,
// since each of the N is in the queue once. One in 62 of them goes to the end. The number of threads before a thread
// therefore shrinks by at least T / 62 − N, and the thread runs within 124·N polls.

/// A ready queue whose front is the thread that became ready last.
///
/// No thread starves: of 62 threads that become ready while others wait, one goes to the end of the queue.
#[derive(Debug)]
pub struct RunNext {
    queue: Fifo,
    left: Cell<u32>,
}

/// Number of consecutive insertions at the front; a prime, so that it does not synchronise with any period of the
/// threads.
const TURNS: u32 = 61;

impl RunNext {
    /// Returns an empty queue.
    pub const fn new() -> Self {
        Self { queue: Fifo::new(), left: Cell::new(TURNS) }
    }
}

impl Default for RunNext {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheduler for RunNext {
    #[inline(always)]
    fn ready<N: Node>(&self, nodes: &[N], thread: u32) {
        if self.queue.is_empty() {
            return self.queue.push_back(nodes, thread);
        }
        cold_path();
        if self.left.get() > 0 {
            self.left.set(self.left.get() - 1);
            self.queue.push_front(nodes, thread);
        } else {
            self.left.set(TURNS);
            self.queue.push_back(nodes, thread);
        }
    }

    #[inline(always)]
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        self.queue.pop(nodes)
    }
}

/// A bit for each thread, set when it can run. The search is round robin: it starts after the thread that was polled
/// last.
///
/// No thread starves: between two polls of one, every other is polled at most once. A search reads all words in the
/// worst case, one for each 64 threads.
#[derive(Debug)]
pub struct Bitmap<B> {
    bits: B,
    last: Cell<u32>,
    ready: Cell<u32>,
}

impl<B: AsRef<[Cell<u64>]>> Bitmap<B> {
    /// Returns a scheduler for as many threads as there are bits in these words, which must be 0: an array, a slice,
    /// a `Vec`.
    pub fn new(bits: B) -> Self {
        Self { bits, last: Cell::new(0), ready: Cell::new(0) }
    }
}

impl<B: AsRef<[Cell<u64>]>> Scheduler for Bitmap<B> {
    /// Records that a thread can run.
    ///
    /// # Panics
    ///
    /// Panics if there are more threads than bits.
    #[inline(always)]
    fn ready<N: Node>(&self, _: &[N], thread: u32) {
        let word = &self.bits.as_ref()[thread as usize / 64];
        word.set(word.get() | 1 << (thread % 64));
        self.ready.set(self.ready.get() + 1);
    }

    #[inline(always)]
    fn next<N: Node>(&self, _: &[N]) -> Option<u32> {
        let left = self.ready.get();
        if left == 0 {
            return None;
        }
        self.ready.set(left - 1);
        let words = self.bits.as_ref();
        // The search covers the threads after the last one within its word, then the words after it, and finally the
        // whole of its word.
        let mut at = self.last.get() as usize / 64;
        let mut seen = words[at].get() & (!1 << (self.last.get() % 64));
        while seen == 0 {
            at = if at + 1 == words.len() { 0 } else { at + 1 };
            seen = words[at].get();
        }
        let bit = seen.trailing_zeros();
        words[at].set(words[at].get() & !(1 << bit));
        let thread = at as u32 * 64 + bit;
        self.last.set(thread);
        Some(thread)
    }
}

// Polling schedulers: they poll every thread, whether it can run or not, in a given order.
//
// A function that calls all protothreads one after another does the same. No thread starves: each is polled once a
// round. When no thread can run, the round ends early, because only a thread could change that.

/// A scheduler that polls all threads in order, repeatedly: the optimum for a token that travels from each thread to
/// the next.
#[derive(Debug, Default)]
pub struct InOrder {
    ready: Cell<u32>,
    at: Cell<u32>,
}

impl InOrder {
    /// Returns a scheduler that begins with thread 0.
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

/// A scheduler that polls all threads in reverse order: the worst case for a token that travels from each thread to
/// the next, which then advances by one thread per round.
#[derive(Debug, Default)]
pub struct Reverse {
    ready: Cell<u32>,
    at: Cell<u32>,
}

impl Reverse {
    /// Returns a scheduler that begins with the last thread.
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

/// A scheduler that polls all threads, each round in another random order.
///
/// The order is a small block cipher (Luby and Rackoff, 1988) of the positions in the round, with a key for each
/// round: each thread is polled once, and no memory is needed.
#[derive(Debug)]
pub struct Random {
    ready: Cell<u32>,
    seed: u64,
    key: Cell<u64>,
    at: Cell<u32>,
}

impl Random {
    /// Returns a scheduler whose orders are determined by the seed.
    pub const fn seeded(seed: u64) -> Self {
        Self { ready: Cell::new(0), seed, key: Cell::new(mix(seed)), at: Cell::new(0) }
    }

    /// Returns the thread at this position of the round.
    fn permuted(&self, place: u32, threads: u32) -> u32 {
        // The cipher has two halves with sufficient bits; a result that is too large is encrypted again.
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

/// Returns one step of SplitMix64 (Steele, Lea and Flood, 2014).
const fn mix(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Returns the next unfinished thread of a walk; `None` when no thread can run.
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
