//! A ring to be run, and what came of it.

use serde::{Deserialize, Serialize};

/// A ring to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct RingSpec {
    pub threads: usize,
    pub hops: u64,
    /// How a large ring lies in memory; otherwise a thread's next is its neighbour.
    pub arrangement: Option<Arrangement>,
    /// CPUs that the threads are dealt to, where they are threads of the kernel; if empty, they stay with the caller's.
    pub cpus: Vec<usize>,
    pub seed: u64,
}

/// How the ring lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// A thread's next is its neighbour.
    InOrder,
    /// A thread's next is anywhere.
    Shuffled,
}

impl Arrangement {
    /// In words.
    pub fn label(self) -> &'static str {
        match self {
            Self::InOrder => "in order",
            Self::Shuffled => "shuffled",
        }
    }
}

impl RingSpec {
    /// The places in memory, as the token comes by. It sets out from place 0.
    fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.threads as u32).collect();
        if self.arrangement == Some(Arrangement::Shuffled) {
            fastrand::Rng::with_seed(self.seed).shuffle(&mut order[1..]);
        }
        order
    }

    /// For each thread, the place in memory of the next.
    pub fn neighbours(&self) -> Vec<u32> {
        let order = self.order();
        let mut next = vec![0; self.threads];
        for (number, &place) in order.iter().enumerate() {
            next[place as usize] = order[(number + 1) % self.threads];
        }
        next
    }

    /// The number, from 1, of the thread at a place in memory.
    pub fn number_of(&self, place: usize) -> usize {
        match self.arrangement {
            None | Some(Arrangement::InOrder) => place + 1,
            Some(Arrangement::Shuffled) => {
                self.order().iter().take_while(|&&other| other as usize != place).count() + 1
            }
        }
    }
}

/// What a built-in contestant saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RingResult {
    /// The number, from 1, of the thread that got the last token.
    pub answer: usize,
    /// Time of all hops, without that of making the threads.
    pub hops_ns: f64,
    /// Threads that were asked and could not run.
    pub wasted_polls: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffled_ring_is_one_ring() {
        let spec =
            RingSpec { threads: 100, hops: 0, arrangement: Some(Arrangement::Shuffled), cpus: Vec::new(), seed: 1 };
        let mut numbers: Vec<usize> = (0..100).map(|place| spec.number_of(place)).collect();
        assert_eq!(numbers[0], 1);
        assert!(!numbers.is_sorted());
        numbers.sort();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
    }
}
