//! Kinds of code, by what limits them: what each loses to a neighbour.

use super::loops::{self, Lines};
use crate::clock::Clock;

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
