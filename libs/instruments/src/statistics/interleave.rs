//! Cells that are compared take turns, in a random order that is recorded.
//!
//! Measured one after the other, the second cell meets a warmer CPU, another neighbour, a different hour: the machine's
//! drift becomes a difference between cells. Turns in a fixed order still let every cell follow the same neighbour.
//! So each round visits every cell once, in a fresh random order.

/// The rounds of a comparison: each a random permutation of the cells still open.
///
/// The iterator ends when every cell is closed. The same seed and the same closings give the same order.
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
    /// Rounds over the cells `0..cells`.
    pub fn new(cells: usize, seed: u64) -> Self {
        Self { open: (0..cells).collect(), rounds: Vec::new(), rng: fastrand::Rng::with_seed(seed) }
    }

    /// Leaves `cell` out of the rounds to come; a round already handed out is not changed.
    pub fn close(&mut self, cell: usize) {
        self.open.retain(|&open| open != cell);
    }

    /// The cells still open, in rising order.
    pub fn open(&self) -> &[usize] {
        &self.open
    }

    /// Every round handed out so far, for the record.
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
