//! Which steps hang together: what one neighbour did, and what the core was like between two of his visits.

use instruments::neighbour::Sharing;
use instruments::statistics::Interval;
use instruments::statistics::blocks::share_interval;
use instruments::statistics::summary::CONFIDENCE;

/// So many blocks of a run at most: moods of the machine outlast a stretch.
const MOST: usize = 32;

/// For each step the number of its block. A block has whole stretches, shared ones and those alone after them, and is
/// no shorter than its part of the run. Steps that are neither belong to what was before.
pub fn blocks(told: &[(f64, Sharing)]) -> Vec<usize> {
    let shortest = told.len().div_ceil(MOST);
    let (mut block, mut length, mut is_shared) = (0, 0, true);
    let number = |(_, sharing): &(f64, Sharing)| {
        if *sharing == Sharing::Shared && !is_shared && length >= shortest {
            (block, length) = (block + 1, 0);
        }
        if *sharing != Sharing::Neither {
            is_shared = *sharing == Sharing::Shared;
        }
        length += 1;
        block
    };
    told.iter().map(number).collect()
}

/// Of the share of shared steps among those that are alone or shared, by the block of each step.
pub fn shared_share_ci(told: &[(f64, Sharing)], blocks: &[usize]) -> Option<Interval> {
    let mut counts = vec![(0.0, 0.0); blocks.last()? + 1];
    for ((_, sharing), &block) in told.iter().zip(blocks).filter(|((_, sharing), _)| *sharing != Sharing::Neither) {
        let (shared, all) = &mut counts[block];
        *shared += f64::from(u8::from(*sharing == Sharing::Shared));
        *all += 1.0;
    }
    share_interval(&counts, CONFIDENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Sharing::{Alone, Neither, Shared};

    fn of(kinds: &[Sharing]) -> Vec<usize> {
        blocks(&kinds.iter().enumerate().map(|(place, kind)| (place as f64, *kind)).collect::<Vec<_>>())
    }

    #[test]
    fn a_block_begins_with_the_stretch_that_is_shared() {
        let kinds = [Alone, Shared, Neither, Shared, Alone, Neither, Shared, Alone, Shared];
        assert_eq!(of(&kinds), [0, 1, 1, 1, 1, 1, 2, 2, 3]);
        assert_eq!(of(&[Shared, Alone, Shared]), [0, 0, 1]);
        assert_eq!(of(&[]), [0; 0]);
    }

    /// A neighbour who comes for some 30 ms and stays away for some 70, looked at every half millisecond.
    #[test]
    fn the_share_is_within_its_interval_about_as_often_as_that_says() {
        const RUNS: usize = 400;
        let mut rng = fastrand::Rng::with_seed(2);
        let mut run = || {
            let mut told = Vec::new();
            while told.len() < 10_000 {
                for (sharing, mean) in [(Alone, 140.0), (Shared, 60.0)] {
                    let steps = -(1.0 - rng.f64()).ln() * mean;
                    (0..steps as usize).for_each(|_| told.push((told.len() as f64 / 2e3, sharing)));
                    told.push((0.0, Neither));
                }
            }
            shared_share_ci(&told, &blocks(&told))
        };
        let covered = (0..RUNS).filter(|_| run().is_some_and(|ends| ends.contains(0.3))).count() as f64 / RUNS as f64;
        assert!((0.92..=0.98).contains(&covered), "covered {covered}");
    }

    #[test]
    fn no_stretch_is_cut_and_short_ones_are_joined() {
        let half = |place: usize| if place < 500 { Shared } else { [Alone, Shared][place % 2] };
        let found = of(&(0..1_000).map(half).collect::<Vec<_>>());
        assert!(found[..500].iter().all(|block| *block == 0), "{found:?}");
        assert_eq!(found[999], 16, "each a 32nd of the run");
    }
}
