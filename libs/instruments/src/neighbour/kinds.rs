//! Kinds of code, by what limits them: what each loses to a neighbour.

use super::loops::{self, Lines};
use crate::clock::Clock;
use std::sync::Arc;

/// A loop of one kind.
#[derive(Clone, Copy)]
pub struct Kind {
    /// What limits it, in a word or two.
    pub name: &'static str,
    run: fn(u32, &mut Workspace),
    rounds: u32,
    /// Whether it walks through the workspace.
    walks: bool,
}

/// What the loops load from and store to. On a thread's own heap, so that no other thread's stores are in the way.
pub struct Workspace {
    lines: Box<Lines>,
    /// Places in memory, each of which names the next: more than the first cache holds, less than the second.
    chain: Vec<u32>,
    at: u32,
}

/// Each takes a third of a microsecond to one.
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
    /// Runs it once; what it took, in ticks. What a loop walks through is in the second cache by then: left alone for
    /// some milliseconds it would not be, and the walk through memory instead.
    pub fn ticks(&self, clock: Clock, workspace: &mut Workspace) -> u64 {
        if self.walks {
            workspace.follow(HOPS_AROUND);
        }
        let began = clock.stamp();
        (self.run)(self.rounds, workspace);
        clock.stamp() - began
    }
}

/// As much as the largest of first caches; going around it takes a third of a step.
const CHAIN_BYTES: usize = 128 << 10;
pub(super) const PLACES_A_LINE: usize = 64 / size_of::<u32>();
const HOPS_AROUND: u32 = (CHAIN_BYTES / size_of::<u32>() / PLACES_A_LINE) as u32;

impl Workspace {
    /// Memory that has been touched.
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

/// One ring through the first word of every line, in an order that no prefetcher guesses.
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
// The core can be alone and code that misses its caches still slow, because a thread on another core fills the last
// cache or the path to memory. Twenty times the length of a [`Probe`](super::Probe), so to be taken more rarely.

/// What the socket answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Time from asking for a line that is not in the core's own caches to having it, in nanoseconds.
    pub latency_ns: f64,
    /// What a single core reads in a row, in bytes a nanosecond (GB a second).
    pub bytes_per_ns: f64,
}

/// Walks through more memory than the core's own caches hold. A clone walks through the same, from a different start.
#[derive(Clone)]
pub struct SocketProbe {
    clock: Clock,
    chain: Arc<[u32]>,
    at: u32,
    read_from: usize,
}

/// Far above any core's own cache; the last cache may hold it or not, as it does for other programs.
const BYTES: usize = 64 << 20;
const HOPS: u32 = 64;
const READ_BYTES: usize = 128 << 10;
const READ_WORDS: usize = READ_BYTES / size_of::<u32>();

impl SocketProbe {
    /// Takes 64 MiB of memory and about a tenth of a second to lay a chain through it.
    pub fn new(clock: Clock) -> Self {
        Self { clock, chain: chain(BYTES).into(), at: 0, read_from: 0 }
    }

    /// For the thread of this number: what one has walked through is in the caches of all.
    pub fn of_thread(&self, thread: usize) -> Self {
        let words = self.chain.len() - READ_WORDS;
        let place = (thread * 997 * READ_WORDS) % words;
        Self { at: self.chain[place / PLACES_A_LINE * PLACES_A_LINE], read_from: place, ..self.clone() }
    }

    /// Asks once, for 15 to 40 µs.
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
