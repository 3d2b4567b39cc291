//! The sums of a cell's turns, in constant memory: of a long run neighbouring turns are joined, all alike.

use super::sum::Sum;

#[derive(Debug)]
pub struct TurnSums {
    sums: Vec<Sum>,
    /// How many turns one sum has, but for the last.
    joined: u64,
    /// How many the last one has.
    in_last: u64,
    turns: u64,
}

/// Sums that are kept: more than enough for an interval.
const MOST: usize = 128;

impl Default for TurnSums {
    fn default() -> Self {
        Self { sums: Vec::new(), joined: 1, in_last: 0, turns: 0 }
    }
}

impl TurnSums {
    pub fn push(&mut self, turn: Sum) {
        self.turns += 1;
        if let Some(last) = self.sums.last_mut().filter(|_| self.in_last < self.joined) {
            last.join(&turn);
            self.in_last += 1;
            return;
        }
        if self.sums.len() == MOST {
            let pairs = self.sums.chunks(2).map(|pair| {
                let mut first = pair[0];
                pair[1..].iter().for_each(|second| first.join(second));
                first
            });
            self.sums = pairs.collect();
            self.joined *= 2;
        }
        self.sums.push(turn);
        self.in_last = 1;
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Sum> {
        self.sums.iter()
    }

    /// How many turns there were.
    pub fn turns(&self) -> u64 {
        self.turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_of_turns_has_room_and_nothing_is_lost() {
        let mut sums = TurnSums::default();
        for turn in 0..10_000 {
            sums.push(Sum { span: 100, reach: 110, passes: 1, gaps: 1, lost: 2, longest: turn, ..Sum::default() });
        }
        assert!(sums.iter().count() <= MOST && sums.turns() == 10_000);
        let all = sums.iter().fold(Sum::default(), |mut all, sum| {
            all.join(sum);
            all
        });
        assert_eq!(
            (all.span, all.reach, all.gaps, all.lost, all.longest),
            (1_000_000, 1_100_000, 10_000, 20_000, 9_999)
        );
        // All but the last are of equally many turns.
        let gaps: Vec<u64> = sums.iter().map(|sum| sum.gaps).collect();
        assert!(gaps[..gaps.len() - 1].iter().all(|&count| count == gaps[0]), "{gaps:?}");
    }
}
