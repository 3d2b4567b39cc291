//! The quanta that a frame loses, described once: as the function that performs it. What enumerates and what simulates
//! it is the library's.

use super::super::contest::Contest;
use chance::{Chance, Error, Experiment, Limits, Sink, Weight};

/// Every quantum is drawn by lot.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    pub contest: Contest,
    pub quanta: u64,
}

impl Experiment for Lost {
    type Outcome = u64;

    fn perform(&self, chance: &mut Chance) -> u64 {
        chance.how_many(self.quanta, self.contest.lost, self.contest.total)
    }

    /// As a sum of independent draws, which has a closed form.
    fn visit<W: Weight>(&self, limits: &Limits, sink: &mut impl Sink<u64, W>) -> Result<(), Error> {
        let Contest { lost, total } = self.contest;
        let one = move |chance: &mut Chance| u64::from(chance.odds(lost, total));
        one.sum_of(self.quanta).visit(limits, sink)
    }
}

/// The quanta are taken in turn: those of the others are spaced evenly, and a frame begins anywhere between two.
///
/// The frame then holds their mean number, rounded down or up, as the fraction of it has it.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    pub contest: Contest,
    pub quanta: u64,
}

impl Experiment for Turns {
    type Outcome = u64;

    fn perform(&self, chance: &mut Chance) -> u64 {
        let total = u128::from(self.contest.total);
        let lost = u128::from(self.quanta) * u128::from(self.contest.lost);
        let (whole, rest) = ((lost / total) as u64, (lost % total) as u64);
        whole + u64::from(chance.odds(rest, self.contest.total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chance::{Distribution, Exact};

    const THEN: Contest = Contest { lost: 1, total: 1025 };

    fn exactly(quanta: u64) -> Distribution<u64, Exact> {
        Distribution::exact(&Lost { contest: THEN, quanta }).unwrap()
    }

    #[test]
    fn the_figures_of_1999_follow_in_exact_rationals() {
        assert_eq!(exactly(1).mean().to_string(), "1/1025");
        assert_eq!(exactly(5).mean().to_string(), "1/205");
        let spread = exactly(166);
        let percent = |lost: u64| Exact::to_f64(&spread.probability(&lost)) * 100.0;
        let printed = [format!("{:.1}", percent(0)), format!("{:.1}", percent(1)), format!("{:.1}", percent(2))];
        assert_eq!(printed, ["85.0", "13.8", "1.1"]);
        assert_eq!(format!("{:.2}", percent(3)), "0.06");
        let sum: chance::BigRational = spread.iter().map(|row| row.1).sum();
        assert_eq!(sum.to_string(), "1");
    }

    #[test]
    fn turns_and_lots_lose_the_same_on_average_and_turns_spread_less() {
        for contest in [THEN, Contest { lost: 110, total: 1134 }, Contest { lost: 0, total: 1 }] {
            let turns = Distribution::exact(&Turns { contest, quanta: 166 }).unwrap();
            let lots = Distribution::exact(&Lost { contest, quanta: 166 }).unwrap();
            assert_eq!(turns.mean(), lots.mean());
            assert!(turns.len() <= 2 && turns.variance() <= lots.variance());
        }
    }
}
