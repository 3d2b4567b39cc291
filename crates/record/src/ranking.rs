//! Ranks of the results that were measured side by side in one run, and which one is shown to be the best or the worst.
//!
//! A rank is 1 plus the number of contenders that are shown to be better. One is shown to be better than another where
//! the 95 % interval of their ratio excludes 1. That interval includes those of the two values, and the variation of
//! the same thing between the cells of one run, by the addresses of its code and data. A contender without a value, or
//! without an interval of it, cannot be compared, so it has no rank: it is neither first nor tied with anything.

use crate::unit::Unit;
use instruments::statistics::Interval;
use instruments::statistics::comparison::{Estimate, RunToRun, compare};
use serde::{Deserialize, Serialize};
use terminal::Page;

/// One contender's rank among those that were measured side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rank {
    /// 1 plus the number of contenders that are shown to be better; `null` without a value or without its interval.
    pub rank: Option<usize>,
    pub lock: String,
    /// The conditions of the measurement, `2 threads, spread`.
    ///
    /// Ranks compare rows with the same words and value.
    pub among: String,
    /// The deciding value: `lock and unlock`, `lock, 99 %`, `loops`.
    pub figure: String,
    pub unit: Unit,
    /// Whether more of it is better.
    #[serde(default)]
    pub more_is_better: bool,
    /// The value; `null` where it is below what can be measured, or was not measured.
    pub value: Option<f64>,
    /// An upper bound of the value, which is the least that can be measured; `null` where the value is known.
    #[serde(default)]
    pub value_below: Option<f64>,
    /// The ratio to the best of those with a rank, as times worse; `null` without a rank.
    pub ratio: Option<f64>,
    /// Its 95 % interval; `null` for the best itself, and without a rank.
    pub ratio_ci: Option<Interval>,
    /// The step of the instrument: values that differ by less cannot be distinguished; 0 in older records.
    #[serde(default)]
    pub resolution: f64,
}

/// The conditions and the value of a ranking.
#[derive(Clone, Debug)]
pub struct Contest {
    pub among: String,
    pub figure: &'static str,
    pub unit: Unit,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// The variation of the same thing between two cells of a run, as a standard deviation of its logarithm.
    pub scatter: f64,
}

/// One of the things that are ranked.
#[derive(Clone, Debug)]
pub struct Contender {
    pub lock: String,
    /// The value; `None` where it is below what can be measured.
    pub value: Option<f64>,
    pub interval: Option<Interval>,
    /// The step of the instrument; a value of `None` is below it.
    pub resolution: f64,
}

/// The degrees of freedom of the scatter between cells.
const DEGREES: f64 = 20.0;

impl Contest {
    /// Returns the ranks of all contenders, the best value first.
    pub fn ranked(&self, mut contenders: Vec<Contender>) -> Vec<Rank> {
        // A value below the resolution comes before every known value, an unknown one after all of them.
        let order = |one: &Contender| match one.value {
            Some(value) => value * if self.more_is_better { -1.0 } else { 1.0 },
            None if one.resolution > 0.0 => 0.0,
            None => f64::INFINITY,
        };
        contenders.sort_by(|one, other| order(one).total_cmp(&order(other)));
        let best = contenders.iter().find(|one| one.estimate().is_some());
        contenders.iter().map(|one| self.rank(one, best, &contenders)).collect()
    }

    fn rank(&self, one: &Contender, best: Option<&Contender>, all: &[Contender]) -> Rank {
        let is_ranked = one.estimate().is_some();
        let best = best.filter(|_| is_ranked);
        let ratio = best.and_then(|best| Some(self.slowness(best.value?, one.value?)));
        let interval = best.filter(|best| !std::ptr::eq(*best, one)).and_then(|best| self.times_worse(best, one));
        let value_below = one.value.is_none().then_some(one.resolution).filter(|least| *least > 0.0);
        Rank {
            rank: is_ranked.then(|| 1 + all.iter().filter(|other| self.is_worse(other, one)).count()),
            lock: one.lock.clone(),
            among: self.among.clone(),
            figure: self.figure.to_owned(),
            unit: self.unit,
            more_is_better: self.more_is_better,
            value: one.value,
            value_below,
            ratio: ratio.filter(|ratio| ratio.is_finite()),
            ratio_ci: interval.filter(|ends| ends.low.is_finite() && ends.high.is_finite()),
            resolution: one.resolution,
        }
    }

    fn slowness(&self, best: f64, one: f64) -> f64 {
        if self.more_is_better { best / one } else { one / best }
    }

    /// Returns whether the second is shown to be worse than the first.
    fn is_worse(&self, better: &Contender, one: &Contender) -> bool {
        match better.value {
            Some(_) => self.times_worse(better, one).is_some_and(|ends| ends.low > 1.0),
            // The only known property of the first is that it is below its resolution.
            None => {
                let is_below = |ends: Interval| better.resolution > 0.0 && ends.low > better.resolution;
                !self.more_is_better && one.interval.is_some_and(is_below)
            }
        }
    }

    /// Returns the interval of how many times worse the second is than the first; `None` where either cannot be
    /// compared.
    pub fn times_worse(&self, better: &Contender, one: &Contender) -> Option<Interval> {
        let (better, one) = (better.estimate()?, one.estimate()?);
        let (under, over) = if self.more_is_better { (one, better) } else { (better, one) };
        ratio(&under, &over, self.scatter)
    }
}

/// Returns whether the first value is shown to be above the second, where the same thing does not vary between them.
pub fn is_above(one: &Estimate, other: &Estimate) -> bool {
    let are_known = [one, other].iter().all(|of| of.value > 0.0 && of.interval.is_some());
    are_known && ratio(other, one, 0.0).is_some_and(|ends| ends.low > 1.0)
}

/// Returns the interval of the ratio of the second value to the first.
fn ratio(under: &Estimate, over: &Estimate, scatter: f64) -> Option<Interval> {
    Some(compare(under, over, RunToRun { deviation: scatter, degrees: DEGREES })?.interval)
}

impl Contender {
    /// Returns the value with its interval; `None` where either is missing, or the value is not above 0.
    fn estimate(&self) -> Option<Estimate> {
        let value = self.value.filter(|value| *value > 0.0 && self.interval.is_some())?;
        Some(Estimate { value, interval: self.interval, resolution: self.resolution })
    }
}

impl Rank {
    /// Returns the ratio to the best value, in words; a dash without a rank.
    pub fn times(&self) -> String {
        let Some(ratio) = self.ratio else { return "–".to_owned() };
        let (ratio, ends) = if self.more_is_better {
            (1.0 / ratio, self.ratio_ci.map(|ends| Interval::new(1.0 / ends.high, 1.0 / ends.low)))
        } else {
            (ratio, self.ratio_ci)
        };
        let ends = ends.map(|ends| format!(" ({})", terminal::range(ends.low, ends.high)));
        terminal::ratio(ratio) + &ends.unwrap_or_default()
    }

    /// Returns the name of the lock next to its value.
    pub fn name(&self) -> String {
        if self.unit == Unit::Ns { timed_lock(&self.lock) } else { self.lock.clone() }
    }

    /// Returns the rank in words; a dash where there is none.
    pub fn place(&self) -> String {
        self.rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string())
    }

    /// Returns the value in words; where it is below what can be measured, that bound.
    pub fn value_words(&self) -> String {
        match (self.value, self.value_below) {
            (Some(value), _) => self.unit.rounded(value),
            (None, Some(least)) => format!("< {}", self.unit.rounded(least)),
            (None, None) => "unknown".to_owned(),
        }
    }

    /// Returns whether the best one of its contest is shown to be better.
    fn is_behind_best(&self) -> bool {
        self.ratio_ci.is_some_and(|ends| ends.low > 1.0)
    }
}

/// Returns whether a lock is a shared object, by its name: `libmine.so`, or `libmine.so.1`.
pub fn is_object(lock: &str) -> bool {
    lock.ends_with(".so") || lock.contains(".so.")
}

/// Returns the name of a lock next to its time: two calls through pointers are a part of that of a shared object, whereas a
/// built-in lock is inlined.
pub fn timed_lock(lock: &str) -> String {
    if is_object(lock) { format!("{lock}, by pointer") } else { lock.to_owned() }
}

/// Returns the contests of a ranking, in their order.
pub fn contests(ranking: &[Rank]) -> impl Iterator<Item = &[Rank]> {
    ranking.chunk_by(|one, other| (&one.among, &one.figure) == (&other.among, &other.figure))
}

/// Returns the one contender of a contest that is shown to be better than each of the others; `None` where there is
/// none, or where a contender has no rank.
pub fn best(contest: &[Rank]) -> Option<&Rank> {
    let (first, others) = contest.split_first()?;
    (first.rank.is_some() && !others.is_empty() && others.iter().all(Rank::is_behind_best)).then_some(first)
}

/// Returns the one contender of a contest that is shown to be worse than each of the others; `None` as for [`best`].
pub fn worst(contest: &[Rank]) -> Option<&Rank> {
    let all_ranked = contest.len() > 1 && contest.iter().all(|rank| rank.rank.is_some());
    contest.last().filter(|last| all_ranked && last.rank == Some(contest.len()))
}

/// The legend of ranks: why some rows of a contest share a rank, and others have none.
pub const LEGEND: &str = "Rank: 1 plus the number of those shown to be better (95 %).";
/// The legend of a contest in which a row has no rank.
pub const LEGEND_UNRANKED: &str = "–: no rank; the value has no confidence interval or is below the resolution.";

/// Returns the words below these ranks.
pub fn legend(ranks: &[Rank]) -> String {
    let unranked = ranks.iter().any(|rank| rank.rank.is_none()).then(|| LEGEND_UNRANKED.to_owned());
    let indistinct = contests(ranks).filter_map(indistinct);
    let lines: Vec<String> = std::iter::once(LEGEND.to_owned()).chain(unranked).chain(indistinct).collect();
    lines.join("\n")
}

/// Names the neighbours of a contest whose values differ by less than the resolution; `None` if there are none.
fn indistinct(contest: &[Rank]) -> Option<String> {
    let estimate = |rank: &Rank| Some(Estimate { value: rank.value?, interval: None, resolution: rank.resolution });
    let is_near = |one: &Rank, other: &Rank| {
        estimate(one).zip(estimate(other)).is_some_and(|(one, other)| one.is_within_step(&other))
    };
    let is_pair = |pair: &&[Rank]| pair.iter().all(|rank| rank.rank.is_some()) && is_near(&pair[0], &pair[1]);
    let groups: Vec<&[Rank]> = contest.windows(2).filter(is_pair).collect();
    let resolution = groups.iter().flat_map(|group| group.iter()).map(|rank| rank.resolution).fold(0.0, f64::max);
    let names = |group: &&[Rank]| group.iter().map(|rank| rank.lock.as_str()).collect::<Vec<&str>>().join(", ");
    let words = format!(
        "Values that differ by less than the resolution of {} cannot be distinguished: {}.",
        contest.first()?.unit.words(resolution),
        groups.iter().map(names).collect::<Vec<String>>().join("; ")
    );
    (!groups.is_empty()).then(|| terminal::wrapped("", "", &words, &Page::plain()).trim_end().to_owned())
}

/// Draws one line each: rank and name, the deciding value, the ratio to the best, and the columns of `more`.
pub fn table(ranks: &[Rank], more: (&[&str], impl Fn(&Rank) -> Vec<String>)) -> String {
    let figure = ranks.first().map_or("", |rank| rank.figure.as_str());
    let header: Vec<&str> = ["", figure, "times the best (95 %)"].into_iter().chain(more.0.iter().copied()).collect();
    let lines = ranks.iter().map(|rank| {
        let first = [format!("{:>2}  {}", rank.place(), rank.name()), rank.value_words(), rank.times()];
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

    fn places(ranks: &[Rank]) -> Vec<(Option<usize>, &str)> {
        ranks.iter().map(|rank| (rank.rank, rank.lock.as_str())).collect()
    }

    #[test]
    fn contenders_without_a_shown_difference_share_a_rank() {
        let all = vec![contender("c", 30.0, 0.1), contender("b", 10.2, 0.3), contender("a", 10.0, 0.1)];
        let ranks = contest(false).ranked(all);
        assert_eq!(places(&ranks), [(Some(1), "a"), (Some(1), "b"), (Some(3), "c")]);
        assert_eq!((ranks[0].ratio, ranks[0].ratio_ci), (Some(1.0), None));
        assert_eq!(ranks[2].ratio, Some(3.0));
        assert!(ranks[2].ratio_ci.unwrap().contains(3.0) && ranks[2].ratio_ci.unwrap().low > 2.8);
        assert_eq!((best(&ranks), worst(&ranks).map(|rank| rank.lock.as_str())), (None, Some("c")));
    }

    #[test]
    fn time_of_a_shared_object_names_its_calls() {
        let all = vec![contender("libmine.so", 13.0, 0.1), contender("std", 10.0, 0.1)];
        let ranks = contest(false).ranked(all.clone());
        let drawn = table(&ranks, (&[], |_| Vec::new()));
        assert!(drawn.contains(" 1  std  ") && drawn.contains(" 2  libmine.so, by pointer "), "{drawn}");
        assert_eq!(ranks[1].lock, "libmine.so");
        let rates = Contest { unit: Unit::PerS, ..contest(true) }.ranked(all);
        assert_eq!(rates[0].name(), "libmine.so");
    }

    #[test]
    fn a_rank_counts_only_those_that_are_shown_to_be_better() {
        let chain = vec![contender("a", 10.0, 0.4), contender("b", 10.6, 0.4), contender("c", 11.2, 0.4)];
        // Adjacent ones do not differ, the ends do: for the last, one is better, not two.
        assert_eq!(places(&contest(false).ranked(chain)), [(Some(1), "a"), (Some(1), "b"), (Some(2), "c")]);
    }

    #[test]
    fn greatest_value_is_first_where_more_is_better() {
        let ranks = contest(true).ranked(vec![contender("a", 10.0, 0.1), contender("b", 20.0, 0.1)]);
        assert_eq!(places(&ranks), [(Some(1), "b"), (Some(2), "a")]);
        assert_eq!(ranks[1].ratio, Some(2.0));
        assert!(ranks[1].times().starts_with("0.50×"), "{}", ranks[1].times());
        let names = [best(&ranks), worst(&ranks)].map(|rank| rank.unwrap().lock.as_str());
        assert_eq!(names, ["b", "a"]);
    }

    /// The best of the survey's uncontended locks once had no interval, and so a semaphore of 188 times its cost shared
    /// rank 1.
    #[test]
    fn value_without_an_interval_is_not_a_tie() {
        let lone = Contender { interval: None, ..contender("benaphore", 4.0, 0.0) };
        let ranks = contest(false).ranked(vec![contender("sysv", 800.0, 5.0), contender("std", 4.4, 0.1), lone]);
        assert_eq!(places(&ranks), [(None, "benaphore"), (Some(1), "std"), (Some(2), "sysv")]);
        assert_eq!((ranks[0].ratio, ranks[1].ratio), (None, Some(1.0)));
        assert_eq!((best(&ranks), worst(&ranks)), (None, None), "benaphore is compared with none");
    }

    #[test]
    fn a_value_below_the_resolution_has_no_rank_and_is_better() {
        let unknown = |lock: &str| Contender { value: None, interval: None, resolution: 9.63, lock: lock.into() };
        let ranks = contest(false).ranked(vec![contender("sysv", 402.0, 2.0), unknown("std"), unknown("benaphore")]);
        assert_eq!(places(&ranks), [(None, "std"), (None, "benaphore"), (Some(3), "sysv")]);
        assert_eq!((ranks[0].value_words(), ranks[0].times()), ("< 9.63 ns".to_owned(), "–".to_owned()));
        assert_eq!(best(&ranks), None);
    }

    #[test]
    fn values_within_one_step_share_a_rank_and_are_named() {
        let of = |lock: &str, value: f64| Contender { resolution: 0.5, ..contender(lock, value, 0.01) };
        let coarse = contest(false).ranked(vec![of("c", 9.0), of("b", 4.5), of("a", 4.1)]);
        assert_eq!(places(&coarse), [(Some(1), "a"), (Some(1), "b"), (Some(3), "c")]);
        let words = "than the resolution of 0.50 ns cannot be distinguished: a, b.";
        assert!(legend(&coarse).replace('\n', " ").contains(words), "{}", legend(&coarse));
        let fine = |lock: &str, value: f64| Contender { resolution: 0.0, ..of(lock, value) };
        let fine = contest(false).ranked(vec![fine("b", 4.5), fine("a", 4.1)]);
        assert_eq!((places(&fine), legend(&fine).as_str()), (vec![(Some(1), "a"), (Some(2), "b")], LEGEND));
    }

    #[test]
    fn no_contenders_have_no_ranks() {
        assert!(contest(false).ranked(Vec::new()).is_empty());
        assert_eq!((best(&[]), worst(&[])), (None, None));
    }
}
