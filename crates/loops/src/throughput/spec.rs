//! The loop that a child runs, as data.

use super::pieces::Looks;
use super::variations::Variations;
use instruments::clock::Clock;

/// The observation of each round of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    Nothing,
    /// A count under the lock, which a lock that does not exclude loses.
    Counts,
    /// A count, and timestamps.
    Times,
}

/// The loop that a child runs.
#[derive(Clone, Copy, Debug)]
pub struct LoopSpec {
    pub clock: Clock,
    /// Dependent loads that last the mean time without and with the lock.
    pub nonhold_loads: u64,
    pub hold_loads: u64,
    /// Reads among acquisitions, of 100.
    pub share: u32,
    pub observation: Observation,
    pub seed: u64,
    /// How children look for who is on their cores, where they do.
    pub looks: Option<Looks>,
    /// Hold times of every second child, in multiples of the mean.
    pub hold_ratio: u64,
    /// The parts of the loop that ulockflex did not have, if there are any: then the children run another loop.
    pub variations: Option<Variations>,
}

impl LoopSpec {
    /// The loop of this child: every second one has longer hold times.
    pub fn of_child(&self, child: usize) -> Self {
        let ratio = if child % 2 == 1 { self.hold_ratio } else { 1 };
        Self { hold_loads: self.hold_loads.saturating_mul(ratio), ..*self }
    }
}
