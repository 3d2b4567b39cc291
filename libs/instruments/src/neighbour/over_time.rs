//! How wide a core was found, block of time by block of time, in a memory that is bounded.

use super::widths::{Taken, Widths};
use crate::statistics::blocks::share_interval;
use crate::statistics::summary::CONFIDENCE;

/// Readings of one CPU's core, in blocks in the order of time: what one neighbour does hangs together, so it is the
/// scatter between blocks that tells how well a share is known.
///
/// ```
/// use instruments::neighbour::{Widths, WidthsOverTime};
///
/// let mut seen = WidthsOverTime::default();
/// for _second in 0..10 {
///     let mut widths = Widths::default();
///     widths.add(3.0); // of as many readings as a second has
///     seen.push(&widths);
/// }
/// assert_eq!(seen.all().count(), 10);
/// ```
#[derive(Clone, Debug)]
pub struct WidthsOverTime {
    blocks: Vec<Widths>,
    /// A block goes on until it has so many readings.
    full: u64,
}

/// Blocks that are kept at most, and readings that one has at least: neighbours come and go within tens of
/// milliseconds, and a core is looked at every 10 ms.
const MOST: usize = 32;
const FEWEST: u64 = 25;

impl Default for WidthsOverTime {
    fn default() -> Self {
        Self { blocks: Vec::new(), full: FEWEST }
    }
}

impl WidthsOverTime {
    /// The next reading's cycles.
    pub fn add(&mut self, cycles: f32) {
        self.block().add(cycles);
    }

    /// The readings of the next piece of time.
    pub fn push(&mut self, piece: &Widths) {
        self.block().absorb(piece);
    }

    /// The block that the next readings belong to.
    fn block(&mut self) -> &mut Widths {
        let is_full = self.blocks.last().is_none_or(|last| last.count() >= self.full);
        if is_full && self.blocks.len() == MOST {
            self.join_neighbours();
        }
        if is_full {
            self.blocks.push(Widths::default());
        }
        self.blocks.last_mut().expect("there is one that is not full")
    }

    fn join_neighbours(&mut self) {
        self.blocks = self.blocks.chunks(2).map(sum).collect();
        self.full *= 2;
    }

    /// Those of another who looked at the same core in turns with this one: what both saw of a block hangs together.
    pub fn absorb(&mut self, other: &Self) {
        let mut other = other.clone();
        while other.full < self.full {
            other.join_neighbours();
        }
        while self.full < other.full {
            self.join_neighbours();
        }
        let (beside, after) = other.blocks.split_at(self.blocks.len().min(other.blocks.len()));
        self.blocks.iter_mut().zip(beside).for_each(|(block, other)| block.absorb(other));
        self.blocks.extend_from_slice(after);
    }

    /// All readings.
    pub fn all(&self) -> Widths {
        sum(&self.blocks)
    }

    /// What a neighbour took, where `best` is the core alone; `None` without a reading.
    pub(super) fn taken(&self, best: f64) -> Option<Taken> {
        let counts: Vec<(f64, f64)> = self.blocks.iter().map(|block| block.shared_of(best)).collect();
        Some(Taken { shared_share_ci: share_interval(&counts, CONFIDENCE), ..self.all().taken(best)? })
    }
}

fn sum(blocks: &[Widths]) -> Widths {
    let mut sum = Widths::default();
    blocks.iter().for_each(|block| sum.absorb(block));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: f32 = 3.0;
    const SHARED: f32 = 6.0;

    fn piece(readings: &[f32]) -> Widths {
        let mut widths = Widths::default();
        readings.iter().for_each(|cycles| widths.add(*cycles));
        widths
    }

    #[test]
    fn a_night_of_pieces_has_room_and_no_reading_is_lost() {
        let mut seen = WidthsOverTime::default();
        for _ in 0..100_000 {
            seen.push(&piece(&[ALONE, SHARED]));
            seen.push(&Widths::default());
        }
        assert!(seen.blocks.len() <= MOST && seen.all().count() == 200_000);
        let counts: Vec<u64> = seen.blocks.iter().map(Widths::count).collect();
        let (_, whole) = counts.split_last().unwrap();
        assert!(whole.iter().all(|count| (seen.full..2 * seen.full).contains(count)), "{counts:?}");
    }

    #[test]
    fn two_who_looked_at_one_core_are_no_more_blocks_than_one() {
        let (mut one, mut other) = (WidthsOverTime::default(), WidthsOverTime::default());
        (0..4_000).for_each(|_| one.add(ALONE));
        (0..1_000).for_each(|_| other.add(SHARED));
        for (first, second) in [(&one, &other), (&other, &one)] {
            let mut both = first.clone();
            both.absorb(second);
            assert_eq!((both.all().count(), both.full, both.blocks.len()), (5_000, one.full, one.blocks.len()));
            assert_eq!(both.taken(3.0).unwrap().shared_share, Some(0.2));
        }
    }

    #[test]
    fn of_few_blocks_the_share_is_known_and_not_how_well() {
        let mut seen = WidthsOverTime::default();
        let quarter = [ALONE, ALONE, ALONE, SHARED].repeat(25);
        for blocks in 1..=4 {
            seen.push(&piece(&quarter));
            let taken = seen.taken(3.0).unwrap();
            assert_eq!(taken.shared_share, Some(0.25));
            assert_eq!(taken.shared_share_ci.is_some(), blocks >= 4, "{blocks} blocks");
        }
    }

    /// A neighbour who comes for some 30 ms and stays away for some 70, looked at every 10 ms, in pieces of a quarter.
    #[test]
    fn the_share_is_within_its_interval_about_as_often_as_that_says() {
        const RUNS: usize = 400;
        let mut rng = fastrand::Rng::with_seed(3);
        for pieces in [12, 80, 400] {
            let mut neighbour = Neighbour { is_there: false, left: 0.0 };
            let mut run = || {
                let mut seen = WidthsOverTime::default();
                (0..pieces).for_each(|_| seen.push(&piece(&[(); 25].map(|()| neighbour.look(&mut rng)))));
                seen.taken(3.0)?.shared_share_ci
            };
            let covered = (0..RUNS).filter(|_| run().is_some_and(|ends| ends.contains(0.3))).count();
            let covered = covered as f64 / RUNS as f64;
            assert!((0.92..=0.98).contains(&covered), "{pieces} pieces: covered {covered}");
        }
    }

    struct Neighbour {
        is_there: bool,
        left: f64,
    }

    impl Neighbour {
        fn look(&mut self, rng: &mut fastrand::Rng) -> f32 {
            self.left -= 10.0;
            while self.left < 0.0 {
                self.is_there = !self.is_there;
                self.left += -(1.0 - rng.f64()).ln() * if self.is_there { 30.0 } else { 70.0 };
            }
            if self.is_there { SHARED } else { ALONE }
        }
    }
}
