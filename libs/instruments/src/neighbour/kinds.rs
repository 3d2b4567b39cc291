//! Kinds of code by their bottleneck, and the loss of each to SMT interference.

use super::loops::{self, Lines};
use crate::clock::Clock;
use std::sync::Arc;

/// A loop of one kind.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Bottleneck, in a word or two.
    pub name: &'static str,
    run: fn(u32, &mut Workspace),
    rounds: u32,
    /// Whether it walks through the workspace.
    walks: bool,
}

/// The memory that the loops load from and store to. It is on a thread's own heap, so that no other thread's stores
/// interfere.
pub struct Workspace {
    lines: Box<Lines>,
    /// Slots in memory, each of which contains the index of the next: more than the first-level cache holds, less
    /// than the second.
    chain: Vec<u32>,
    at: u32,
}

/// The kinds, each of which takes a third of a microsecond to one.
pub static KINDS: [Kind; 9] = [
    Kind { name: "width", run: |rounds, _| loops::width(rounds), rounds: 400, walks: false },
    Kind { name: "no-ops", run: |rounds, _| loops::no_ops(rounds), rounds: 400, walks: false },
    Kind { name: "latency", run: |rounds, _| loops::latency(rounds), rounds: 150, walks: false },
    Kind { name: "multiplier", run: |rounds, _| loops::multiplications(rounds), rounds: 300, walks: false },
    Kind { name: "loads", run: |rounds, at| loops::loads(rounds, &at.lines), rounds: 300, walks: false },
    Kind { name: "stores", run: |rounds, at| loops::stores(rounds, &mut at.lines), rounds: 400, walks: false },
    Kind {
        name: "store to load",
        run: |rounds, at| loops::store_to_load(rounds, &mut at.lines),
        rounds: 300,
        walks: false,
    },
    Kind { name: "branches", run: |rounds, _| loops::branches(rounds), rounds: 300, walks: false },
    Kind { name: "second cache", run: |rounds, at| at.follow(rounds), rounds: 150, walks: true },
];

impl Kind {
    /// Runs the loop once and returns its duration in ticks.
    ///
    /// The memory that a loop walks through is in the second-level cache by then. After some milliseconds without use
    /// it would not be, and the walk would measure memory.
    pub fn ticks(&self, clock: Clock, workspace: &mut Workspace) -> u64 {
        if self.walks {
            workspace.follow(HOPS_AROUND);
        }
        let began = clock.stamp();
        (self.run)(self.rounds, workspace);
        clock.stamp() - began
    }
}

/// Size of the largest first-level caches; a round of the chain takes a third of a step.
const CHAIN_BYTES: usize = 128 << 10;
pub(super) const PLACES_A_LINE: usize = 64 / size_of::<u32>();
const HOPS_AROUND: u32 = (CHAIN_BYTES / size_of::<u32>() / PLACES_A_LINE) as u32;

impl Workspace {
    /// Returns a workspace whose memory has been accessed.
    pub fn new() -> Self {
        Self { lines: Box::new(Lines([0; 64])), chain: chain(CHAIN_BYTES), at: 0 }
    }

    fn follow(&mut self, hops: u32) {
        for _ in 0..hops {
            self.at = self.chain[self.at as usize];
        }
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns one ring through the first word of every line, in an order that no prefetcher predicts.
pub(super) fn chain(bytes: usize) -> Vec<u32> {
    let mut chain = vec![0; bytes / size_of::<u32>()];
    let mut order: Vec<u32> = (0..chain.len() as u32).step_by(PLACES_A_LINE).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut order);
    for (place, &line) in order.iter().enumerate() {
        chain[line as usize] = order[(place + 1) % order.len()];
    }
    chain
}

// The path to memory that the cores of a socket share: its latency and its bandwidth.
//
// Code that misses its caches can be slow on an exclusive core, because a thread on another core fills the last-level
// cache or the path to memory. A measurement takes twenty times as long as a [`Probe`](super::Probe), so it should be
// rarer.

/// The measured properties of the path to memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Time from requesting a line that is not in the core's own caches to receiving it, in nanoseconds.
    pub latency_ns: f64,
    /// Sequential read rate of a single core, in bytes per nanosecond (GB per second).
    pub bytes_per_ns: f64,
}

/// A walk through more memory than the core's own caches hold. A clone walks through the same memory from a different
/// start.
#[derive(Clone)]
pub struct SocketProbe {
    clock: Clock,
    chain: Arc<[u32]>,
    at: u32,
    read_from: usize,
}

/// Size of the memory: far above any core's own cache; the last-level cache may hold it or not, as it does for other
/// programs.
const BYTES: usize = 64 << 20;
const HOPS: u32 = 64;
const READ_BYTES: usize = 128 << 10;
const READ_WORDS: usize = READ_BYTES / size_of::<u32>();

impl SocketProbe {
    /// Allocates 64 MiB and creates a chain through it, in about a tenth of a second.
    pub fn new(clock: Clock) -> Self {
        Self { clock, chain: chain(BYTES).into(), at: 0, read_from: 0 }
    }

    /// Returns the probe for the thread of this number, which starts elsewhere: lines that one thread has read are in
    /// the caches of all.
    pub fn of_thread(&self, thread: usize) -> Self {
        let words = self.chain.len() - READ_WORDS;
        let place = (thread * 997 * READ_WORDS) % words;
        Self { at: self.chain[place / PLACES_A_LINE * PLACES_A_LINE], read_from: place, ..self.clone() }
    }

    /// Measures once, for 15 to 40 µs.
    pub fn take(&mut self) -> Memory {
        let began = self.clock.stamp();
        for _ in 0..HOPS {
            self.at = self.chain[self.at as usize];
        }
        let answered = self.clock.stamp();
        let part = &self.chain[self.read_from..self.read_from + READ_WORDS];
        std::hint::black_box(part.iter().fold(0, |sum: u32, &word| sum.wrapping_add(word)));
        let read = self.clock.stamp();
        self.read_from = (self.read_from + READ_WORDS) % (self.chain.len() - READ_WORDS);
        Memory {
            latency_ns: self.clock.to_ns(answered - began) / f64::from(HOPS),
            bytes_per_ns: READ_BYTES as f64 / self.clock.to_ns(read - answered).max(1.0),
        }
    }
}
