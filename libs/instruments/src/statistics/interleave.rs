//! Interleaving of compared configurations, in a random order that is recorded.
//!
//! If configurations are measured one after the other, the second one runs on a warmer CPU, with other guests, at a
//! different hour: the drift of the machine becomes a difference between them. In a fixed order, each configuration
//! still follows the same predecessor. Each round therefore visits every configuration once, in a new random order.

/// The rounds of a comparison: each is a random permutation of the open configurations.
///
/// The iterator ends when every configuration is closed. The same seed and the same calls of [`close`](Self::close)
/// give the same order.
///
/// # Examples
///
/// ```
/// use instruments::statistics::Interleaving;
///
/// let mut turns = Interleaving::new(3, 42);
/// let mut first = turns.next().unwrap();
/// first.sort();
/// assert_eq!(first, [0, 1, 2]);
/// turns.close(1);
/// assert_eq!(turns.next().unwrap().len(), 2);
/// assert_eq!(turns.order().len(), 2);
/// turns.close(0);
/// turns.close(2);
/// assert_eq!(turns.next(), None);
/// ```
#[derive(Debug, Clone)]
pub struct Interleaving {
    open: Vec<usize>,
    rounds: Vec<Vec<usize>>,
    rng: fastrand::Rng,
}

impl Interleaving {
    /// Returns the rounds over the configurations `0..cells`.
    pub fn new(cells: usize, seed: u64) -> Self {
        Self { open: (0..cells).collect(), rounds: Vec::new(), rng: fastrand::Rng::with_seed(seed) }
    }

    /// Excludes `cell` from future rounds; a round that was already returned does not change.
    pub fn close(&mut self, cell: usize) {
        self.open.retain(|&open| open != cell);
    }

    /// Returns the open configurations in increasing order.
    pub fn open(&self) -> &[usize] {
        &self.open
    }

    /// Returns every round so far, for the record.
    pub fn order(&self) -> &[Vec<usize>] {
        &self.rounds
    }
}

impl Iterator for Interleaving {
    type Item = Vec<usize>;

    fn next(&mut self) -> Option<Vec<usize>> {
        if self.open.is_empty() {
            return None;
        }
        let mut round = self.open.clone();
        self.rng.shuffle(&mut round);
        self.rounds.push(round.clone());
        Some(round)
    }
}
