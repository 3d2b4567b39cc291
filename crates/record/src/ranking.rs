//! Which is best? What was measured beside each other in one run, in order, and how far apart.
//!
//! Two share a place where they cannot be told apart: where the 95 % interval of their ratio has 1 in it. That interval
//! has, beside those of the two figures, how much the same thing differs from cell to cell of one run, by where its
//! code and data lie. Whoever has no interval of its own cannot be told from anybody.

use crate::unit::Unit;
use instruments::statistics::Interval;
use instruments::statistics::comparison::{Estimate, RunToRun, compare};
use serde::{Deserialize, Serialize};

/// A place among those that were measured beside each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rank {
    /// 1 is the best; those that cannot be told apart share it, and the next has the number of those before it, plus
    /// one.
    pub rank: usize,
    pub lock: String,
    /// Under what it was measured: `2 threads, spread`. Places are among those of the same words and figure.
    pub among: String,
    /// What decides: `lock and unlock`, `lock, 99 %`, `loops`.
    pub figure: String,
    pub unit: Unit,
    /// `null` where it is below what is known.
    pub value: Option<f64>,
    /// How many times worse than the best; `null` where either is not known.
    pub ratio: Option<f64>,
    /// Its 95 % interval; `null` without intervals of both.
    pub ratio_ci: Option<Interval>,
}

/// What places are given for.
#[derive(Clone, Debug)]
pub struct Contest {
    pub among: String,
    pub figure: &'static str,
    pub unit: Unit,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// By how much the same thing differs between two cells of a run, as a standard deviation of its logarithm.
    pub scatter: f64,
}

/// Who has a place.
#[derive(Clone, Debug)]
pub struct Contender {
    pub lock: String,
    /// `None` where it is below what is known.
    pub value: Option<f64>,
    pub interval: Option<Interval>,
    /// The step of what it was read from; below what it is not known.
    pub resolution: f64,
}

/// How well the scatter between cells is known.
const DEGREES: f64 = 20.0;

impl Contest {
    /// Everybody's place, the best first.
    pub fn ranked(&self, mut contenders: Vec<Contender>) -> Vec<Rank> {
        // What is less than can be known comes before what is known.
        let order = |one: &Contender| one.value.unwrap_or(0.0) * if self.more_is_better { -1.0 } else { 1.0 };
        contenders.sort_by(|one, other| order(one).total_cmp(&order(other)));
        let mut ranks: Vec<Rank> = Vec::with_capacity(contenders.len());
        let Some(best) = contenders.first() else { return ranks };
        let (mut head, mut place) = (best, 1);
        for (before, one) in contenders.iter().enumerate() {
            if self.is_worse(head, one) {
                (head, place) = (one, before + 1);
            }
            let interval = self.times(best, one).filter(|_| before > 0);
            ranks.push(Rank {
                rank: place,
                lock: one.lock.clone(),
                among: self.among.clone(),
                figure: self.figure.to_owned(),
                unit: self.unit,
                value: one.value,
                ratio: best
                    .value
                    .zip(one.value)
                    .map(|(best, one)| self.slowness(best, one))
                    .filter(|ratio| ratio.is_finite()),
                ratio_ci: interval.filter(|ends| ends.low.is_finite() && ends.high.is_finite()),
            });
        }
        ranks
    }

    fn slowness(&self, best: f64, one: f64) -> f64 {
        if self.more_is_better { best / one } else { one / best }
    }

    /// Whether it is told to be worse than the better one.
    fn is_worse(&self, better: &Contender, one: &Contender) -> bool {
        match better.value {
            Some(_) => self.times(better, one).is_some_and(|ends| ends.low > 1.0),
            // Of the better one no more is known than that it is below this.
            None => one.interval.is_some_and(|ends| ends.low > better.resolution),
        }
    }

    /// The interval of how many times worse it is.
    fn times(&self, better: &Contender, one: &Contender) -> Option<Interval> {
        let estimate = |of: &Contender| {
            let value = of.value.filter(|_| of.interval.is_some())?;
            Some(Estimate { value, interval: of.interval, resolution: of.resolution })
        };
        let (better, one) = (estimate(better)?, estimate(one)?);
        let scatter = RunToRun { deviation: self.scatter, degrees: DEGREES };
        let (under, over) = if self.more_is_better { (one, better) } else { (better, one) };
        Some(compare(&under, &over, scatter)?.interval)
    }
}

impl Rank {
    /// How many times worse than the best, in words; the best says 1.
    pub fn times(&self) -> String {
        let Some(ratio) = self.ratio else { return "–".to_owned() };
        let ends = self.ratio_ci.map(|ends| format!(" ({})", terminal::range(ends.low, ends.high)));
        terminal::ratio(ratio) + &ends.unwrap_or_default()
    }
}

/// The contests of a ranking, in their order.
pub fn contests(ranking: &[Rank]) -> impl Iterator<Item = &[Rank]> {
    ranking.chunk_by(|one, other| (&one.among, &one.figure) == (&other.among, &other.figure))
}

/// One line each: place and name, the deciding figure, how many times worse than the best, and what `more` says.
pub fn table(ranks: &[Rank], more: (&[&str], impl Fn(&Rank) -> Vec<String>)) -> String {
    let figure = ranks.first().map_or("", |rank| rank.figure.as_str());
    let header: Vec<&str> = ["", figure, "times the best (95 %)"].into_iter().chain(more.0.iter().copied()).collect();
    let lines = ranks.iter().map(|rank| {
        let value = rank.value.map_or_else(|| "not known".to_owned(), |value| rank.unit.rounded(value));
        let first = [format!("{:>2}  {}", rank.rank, rank.lock), value, rank.times()];
        first.into_iter().chain((more.1)(rank)).collect()
    });
    terminal::table(&header, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contest(more_is_better: bool) -> Contest {
        let (among, figure) = ("1 thread".to_owned(), "lock and unlock");
        Contest { among, figure, unit: Unit::Ns, more_is_better, scatter: 0.01 }
    }

    fn contender(lock: &str, value: f64, off: f64) -> Contender {
        let interval = Some(Interval::new(value - off, value + off));
        Contender { lock: lock.into(), value: Some(value), interval, resolution: 0.0 }
    }

    fn places(ranks: &[Rank]) -> Vec<(usize, &str)> {
        ranks.iter().map(|rank| (rank.rank, rank.lock.as_str())).collect()
    }

    #[test]
    fn those_that_cannot_be_told_apart_share_a_place() {
        let all = vec![contender("c", 30.0, 0.1), contender("b", 10.2, 0.3), contender("a", 10.0, 0.1)];
        let ranks = contest(false).ranked(all);
        assert_eq!(places(&ranks), [(1, "a"), (1, "b"), (3, "c")]);
        assert_eq!((ranks[0].ratio, ranks[0].ratio_ci), (Some(1.0), None));
        assert_eq!(ranks[2].ratio, Some(3.0));
        assert!(ranks[2].ratio_ci.unwrap().contains(3.0) && ranks[2].ratio_ci.unwrap().low > 2.8);
    }

    #[test]
    fn where_more_is_better_the_most_comes_first() {
        let ranks = contest(true).ranked(vec![contender("a", 10.0, 0.1), contender("b", 20.0, 0.1)]);
        assert_eq!(places(&ranks), [(1, "b"), (2, "a")]);
        assert_eq!(ranks[1].ratio, Some(2.0));
    }

    #[test]
    fn what_is_below_the_clocks_step_comes_first_and_what_has_no_interval_is_told_from_nobody() {
        let unknown = Contender { value: None, interval: None, resolution: 10.0, lock: "fast".into() };
        let lone = Contender { interval: None, ..contender("lone", 12.0, 0.0) };
        let ranks = contest(false).ranked(vec![contender("slow", 50.0, 1.0), lone, unknown]);
        assert_eq!(places(&ranks), [(1, "fast"), (1, "lone"), (3, "slow")]);
        assert_eq!(ranks[2].ratio, None);
    }

    #[test]
    fn nobody_has_no_place() {
        assert!(contest(false).ranked(Vec::new()).is_empty());
    }
}
