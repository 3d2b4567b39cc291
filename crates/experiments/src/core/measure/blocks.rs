//! Which steps hang together: what one neighbour did, and what the core was like between two of his visits.

use instruments::neighbour::Sharing;

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

    #[test]
    fn no_stretch_is_cut_and_short_ones_are_joined() {
        let half = |place: usize| if place < 500 { Shared } else { [Alone, Shared][place % 2] };
        let found = of(&(0..1_000).map(half).collect::<Vec<_>>());
        assert!(found[..500].iter().all(|block| *block == 0), "{found:?}");
        assert_eq!(found[999], 16, "each a 32nd of the run");
    }
}
