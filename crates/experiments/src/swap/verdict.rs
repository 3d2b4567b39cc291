//! The rules by which a lock is reported as better, or worse.

use super::record::{LEAST_EFFECT, SwapRow, Verdict, change};
use instruments::statistics::{Interval, rank_sum};
use launch::{Limit, spread};

/// All comparisons of a table together show a difference that is none as seldom as this.
const ALL_WRONG: f64 = 0.05;

/// The part of all CPUs' time that other programs may have.
pub const BUSY: f64 = 0.1;
/// Probability, at most, that other programs had as much of the CPUs in the runs of both sides.
const UNEQUAL: f64 = 0.01;

/// The figures of the runs of one side and the plain runs, in one metric.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    pub over: &'a [f64],
    pub under: &'a [f64],
    pub ratio_ci: Option<Interval>,
    pub higher_is_better: bool,
}

impl Pair<'_> {
    /// Judges one comparison of a table.
    ///
    /// A difference is shown if the interval of the ratio is beyond the least effect, and if a rank-sum test against
    /// the plain figures, moved by the least effect, shows it at the level that is left to one of all comparisons.
    pub fn verdict(self, comparisons: usize) -> Verdict {
        let Self { over, under, ratio_ci, higher_is_better } = self;
        let level = level(comparisons);
        let Some(ratio) = ratio_ci.filter(|_| rank_sum::least_probability(over.len(), under.len()) <= level) else {
            return Verdict::NotJudged;
        };
        let moved = |by: f64| under.iter().map(|value| value * by).collect::<Vec<f64>>();
        let (less, more) = (1.0 - LEAST_EFFECT, 1.0 / (1.0 - LEAST_EFFECT));
        let is_less = ratio.high < less && rank_sum::probability_of_less(over, &moved(less)) <= level;
        let is_more = ratio.low > more && rank_sum::probability_of_less(&moved(more), over) <= level;
        match (is_less, is_more) {
            (false, false) => Verdict::open(ratio),
            (_, is_more) if is_more == higher_is_better => Verdict::Better,
            _ => Verdict::Worse,
        }
    }
}

/// Returns the level of one comparison of a table, for each of its two directions (Bonferroni).
fn level(comparisons: usize) -> f64 {
    ALL_WRONG / 2.0 / comparisons.max(1) as f64
}

/// Returns the fewest runs of each side with which a comparison of a table can show a difference.
pub fn fewest_runs(comparisons: usize) -> u64 {
    let is_enough = |runs: &usize| rank_sum::least_probability(*runs, *runs) <= level(comparisons);
    (2..).find(is_enough).unwrap_or(usize::MAX) as u64
}

/// Returns whether busy CPUs void the verdict of a figure: they do not if all its runs are the same but for the least
/// effect.
pub fn is_disturbed(pair: Pair<'_>, over: &[f64], under: &[f64]) -> bool {
    let is_steady = |values: &[f64]| spread(values) <= 1.0 + LEAST_EFFECT;
    busy_share(over, under).is_some() && !(is_steady(pair.over) && is_steady(pair.under))
}

/// Returns the median of what other programs had of the CPUs, if a side's runs were too disturbed to be judged: they
/// had more than a tenth in runs of either side, or more in those of one side than of the other. Runs that were too
/// short for the kernel's account do not count.
pub fn busy_share(over: &[f64], under: &[f64]) -> Option<f64> {
    use instruments::statistics::order::median;
    let (over_median, under_median) = (median(over)?, median(under)?);
    let most = over_median.max(under_median);
    let is_unequal = || {
        (over_median - under_median).abs() > BUSY / 2.0
            && rank_sum::probability_of_less(over, under).min(rank_sum::probability_of_less(under, over)) <= UNEQUAL
    };
    (most > BUSY || is_unequal()).then_some(most)
}

/// Describes the rows that are beyond a limit.
pub fn exceeded(limits: &[Limit], rows: &[SwapRow]) -> Vec<String> {
    let is_beyond = |limit: &Limit, row: &SwapRow| {
        row.verdict == Verdict::Worse && row.ratio_ci.is_some_and(|ratio| limit.is_exceeded(ratio))
    };
    let of = |limit: &Limit| {
        let found = rows.iter().filter(|row| row.is_lock() && is_beyond(limit, row));
        found.map(|row| format!("--fail-if {limit}: {}: {}", row.lock, change(row))).collect::<Vec<_>>()
    };
    limits.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use launch::ratio;

    /// Runs of a program with the same lock on both sides: none, drift, two modes, a heavy tail.
    fn run(shape: usize, round: usize, random: &mut fastrand::Rng) -> f64 {
        let normal = |random: &mut fastrand::Rng| (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        match shape {
            0 => 100.0 + 3.0 * normal(random),
            1 => 100.0 + 10.0 * (round as f64 / 3.0).sin() + normal(random),
            2 => {
                if random.bool() {
                    100.0 + normal(random)
                } else {
                    160.0 + normal(random)
                }
            }
            _ => 100.0 * (1.0 + 0.02 / (1.0 - random.f64()).powf(0.8)),
        }
    }

    /// Returns all verdicts of a table in which the plain runs and all `sides` are alike.
    fn verdicts(shape: usize, runs: usize, sides: usize, seed: u64) -> Vec<Verdict> {
        let random = &mut fastrand::Rng::with_seed(seed);
        let mut all = vec![Vec::new(); sides + 1];
        for round in 0..runs {
            let mut order: Vec<usize> = (0..=sides).collect();
            random.shuffle(&mut order);
            order.iter().for_each(|&side| all[side].push(run(shape, round, random)));
        }
        let (under, others) = all.split_first().unwrap();
        let judged = |over: &Vec<f64>| {
            let verdict = |ratio_ci| Pair { over, under, ratio_ci, higher_is_better: false }.verdict(sides);
            // The rank-sum test rarely shows a difference, and the bootstrap of the interval takes a thousand times as
            // long: it is omitted where no interval would change the verdict.
            let extremes = [Interval::new(0.1, 0.1), Interval::new(10.0, 10.0)].map(|ends| verdict(Some(ends)));
            if extremes == [Verdict::Undecided; 2] {
                return Verdict::Undecided;
            }
            verdict(ratio(over, under, seed).map(|ratio| ratio.interval))
        };
        others.iter().map(judged).collect()
    }

    #[test]
    fn equal_sides_are_told_apart_in_at_most_one_table_of_twenty() {
        for shape in 0..4 {
            for (runs, sides) in [(6, 1), (8, 6), (12, 3)] {
                const TABLES: usize = 400;
                let is_wrong = |seed: &usize| {
                    let verdicts = verdicts(shape, runs, sides, *seed as u64);
                    assert!(verdicts.iter().all(|verdict| *verdict != Verdict::NotJudged));
                    verdicts.iter().any(|verdict| matches!(verdict, Verdict::Better | Verdict::Worse))
                };
                let wrong = (0..TABLES).filter(is_wrong).count();
                // 5 % of 400, and three standard deviations of such a count.
                assert!(wrong <= 33, "{wrong} of {TABLES}: shape {shape}, {runs} runs, {sides} sides");
            }
        }
    }

    fn verdict(over: &[f64], under: &[f64], comparisons: usize) -> Verdict {
        let ratio_ci = ratio(over, under, 1).map(|ratio| ratio.interval);
        Pair { over, under, ratio_ci, higher_is_better: false }.verdict(comparisons)
    }

    #[test]
    fn difference_is_shown_beyond_the_least_effect_only() {
        let under = [100.0, 100.2, 99.8, 100.1, 99.9, 100.0];
        let times = |by: f64| under.map(|value| value * by);
        assert_eq!(verdict(&times(1.0), &under, 4), Verdict::NoDifferenceShown);
        assert_eq!(verdict(&times(0.985), &under, 4), Verdict::LessThanLeast);
        assert_eq!(verdict(&times(1.015), &under, 4), Verdict::LessThanLeast);
        assert_eq!(verdict(&times(0.95), &under, 4), Verdict::Better);
        assert_eq!(verdict(&times(1.05), &under, 4), Verdict::Worse);
        // The library alone of a review: 0.970 (0.943 to 0.998).
        let pass = [94.3, 95.5, 96.8, 97.2, 99.0, 99.8];
        assert_eq!(verdict(&pass, &under, 6), Verdict::Undecided);
    }

    #[test]
    fn many_comparisons_need_more_runs() {
        assert_eq!(
            (fewest_runs(1), fewest_runs(9), fewest_runs(23), fewest_runs(24), fewest_runs(60)),
            (4, 6, 6, 7, 7)
        );
        let (over, under) = ([50.0; 6], [100.0; 6]);
        assert_eq!(verdict(&over, &under, 23), Verdict::Better);
        assert_eq!(verdict(&over, &under, 24), Verdict::NotJudged);
    }

    #[test]
    fn a_busy_cpu_voids_a_verdict_and_equal_noise_does_not() {
        assert_eq!(busy_share(&[0.02; 6], &[0.03; 6]), None);
        assert_eq!(busy_share(&[0.45; 6], &[0.03; 6]), Some(0.45));
        assert_eq!(busy_share(&[0.02; 6], &[0.3; 6]), Some(0.3));
        let some = [0.07, 0.08, 0.075, 0.09, 0.08, 0.085];
        assert_eq!(busy_share(&some, &[0.01; 6]), Some(0.08));
        // The median ignores one busy run of six; runs without an account say nothing.
        assert_eq!(busy_share(&[0.5, 0.01, 0.0, 0.0, 0.01, 0.0], &[0.01; 6]), None);
        assert_eq!(busy_share(&[], &[0.5; 6]), None);
        let pair = |over: &'static [f64]| Pair { over, under: &[100.0; 6], ratio_ci: None, higher_is_better: false };
        assert!(is_disturbed(pair(&[285.0, 506.0]), &[0.5; 6], &[0.5; 6]));
        assert!(!is_disturbed(pair(&[285.0, 506.0]), &[0.01; 6], &[0.01; 6]));
        // Values that the CPUs do not change are judged all the same.
        assert!(!is_disturbed(pair(&[200.0, 201.0]), &[0.5; 6], &[0.5; 6]));
    }
}
