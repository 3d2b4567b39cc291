//! The statistics of a comparison: paired differences, one interval for each, and verdicts that guard each other.
//!
//! - **Unit**: a block has one run of each side, in random order. The difference of two sides in a block is that of the
//!   logarithms of their values, so that it is a ratio. Drift over the blocks cancels.
//! - **Interval**: that of the signed-rank test with the Hodges-Lehmann estimate
//!   ([`signed_rank`](instruments::statistics::signed_rank)). It needs no distribution of the times: the random order
//!   alone makes the sign of each difference a fair coin where the sides are alike. A bootstrap of the blocks would be
//!   wrong for few blocks, and a test on means loses to single slow runs, which shared machines have.
//! - **Looks**: the comparison may end at each tenth of its time. Each look has a part of the error
//!   ([`sequential`](instruments::statistics::sequential)), and the interval is that of all looks together.
//! - **Several verdicts**: Holm's procedure with weights (Holm, "A Simple Sequentially Rejective Multiple Test
//!   Procedure", 1979). Four fifths of the error are for the decisive metric of the sides, the rest for the others; a
//!   verdict that is shown passes its part on. So memory and CPU time cost the decisive metric little power.
//! - **Least effect**: an interval that is wholly within the least effect is a result: the sides differ by less.

use super::record::Verdict;
use instruments::statistics::Interval;
use instruments::statistics::sequential::{Look, level_of_last, upper_quantile};
use instruments::statistics::signed_rank::{self, centre};
use launch::{Limit, is_within};
use std::cell::RefCell;

/// All verdicts of a comparison of equals together show a difference at most this often.
pub const LEVEL: f64 = 0.05;
/// The part of the error that the decisive metric has.
const DECISIVE: f64 = 0.8;
/// The quantile of the normal distribution for 9 of 10 comparisons.
const NINE_OF_TEN: f64 = 1.281_552;
/// An interval is narrow enough to end a comparison if half of it is at most this part of the difference.
const NARROW: f64 = 1.0 / 3.0;

/// Returns the differences of two sides in one metric, by block; `None` where a value is 0, which has no ratio.
pub fn differences(over: &[f64], under: &[f64], is_omitted: impl Fn(usize) -> bool) -> Option<Vec<f64>> {
    let used = || over.iter().zip(under).enumerate().filter(|(block, _)| !is_omitted(*block)).map(|(_, pair)| pair);
    let is_positive = used().all(|(over, under)| *over > 0.0 && *under > 0.0);
    is_positive.then(|| used().map(|(over, under)| (over / under).ln()).collect())
}

/// One comparison of two sides in one metric.
pub struct Comparison {
    /// Differences, by block.
    pub differences: Vec<f64>,
    pub is_decisive: bool,
}

/// The statistics of one comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub ratio: f64,
    pub ratio_ci: Option<Interval>,
    /// Whether it is shown that the sides differ, with all other comparisons considered.
    pub is_shown: bool,
    /// The difference, as a share, that 9 of 10 comparisons of this length would have found.
    pub power: Option<f64>,
    /// The fewest blocks in which it could be shown, with all other comparisons considered.
    pub fewest_blocks: usize,
    /// Blocks that are missing until it is shown, if the next ones are like those so far; 0 if it is shown.
    pub missing_blocks: usize,
}

/// Judges all comparisons at the last of these looks.
pub fn judge(comparisons: &[Comparison], looks: &[Look], least: f64) -> Vec<Judged> {
    let decisive = comparisons.iter().filter(|comparison| comparison.is_decisive).count();
    let others = comparisons.len() - decisive;
    let weight = |comparison: &Comparison| match (comparison.is_decisive, others, decisive) {
        (true, 0, _) => 1.0 / decisive as f64,
        (true, ..) => DECISIVE / decisive as f64,
        (false, _, 0) => 1.0 / others as f64,
        (false, ..) => (1.0 - DECISIVE) / others as f64,
    };
    let weights: Vec<f64> = comparisons.iter().map(weight).collect();
    let levels = Levels { looks, known: RefCell::default() };
    let tested = tested(comparisons, &weights, &levels);
    let level = levels.of_last(LEVEL);
    let one = |(comparison, (tested, weight)): (&Comparison, (&Tested, &f64))| {
        let found = centre(&comparison.differences, level)?;
        let log_ci = found.interval;
        let level_of_own = levels.of_last(LEVEL * weight);
        let power = log_ci.and_then(|ends| power(ends.width() / 2.0, level, level_of_own, least));
        Some(Judged {
            ratio: found.estimate.exp(),
            ratio_ci: log_ci.map(|ends| Interval::new(ends.low.exp(), ends.high.exp())),
            is_shown: tested.is_shown,
            power,
            fewest_blocks: signed_rank::fewest(tested.level),
            missing_blocks: tested.missing_blocks(&comparison.differences),
        })
    };
    let unknown =
        Judged { ratio: 1.0, ratio_ci: None, is_shown: false, power: None, fewest_blocks: 0, missing_blocks: 0 };
    comparisons.iter().zip(tested.iter().zip(&weights)).map(|each| one(each).unwrap_or(unknown)).collect()
}

/// The levels of the last look, each computed once.
struct Levels<'a> {
    looks: &'a [Look],
    known: RefCell<Vec<(f64, f64)>>,
}

impl Levels<'_> {
    fn of_last(&self, level: f64) -> f64 {
        let mut known = self.known.borrow_mut();
        if let Some((_, of_last)) = known.iter().find(|(of, _)| *of == level) {
            return *of_last;
        }
        let of_last = level_of_last(level, self.looks);
        known.push((level, of_last));
        of_last
    }
}

/// The test of one comparison among all.
struct Tested {
    is_shown: bool,
    /// The part of the error that it was tested with, over all looks together.
    level: f64,
}

impl Tested {
    /// Returns the number of blocks that are missing for a test of these differences. The interval is assumed to become
    /// narrower with the square root of their number.
    fn missing_blocks(&self, differences: &[f64]) -> usize {
        if self.is_shown {
            return 0;
        }
        let blocks = differences.len();
        let enough = |level: f64| signed_rank::fewest(level).max(blocks + 1) - blocks;
        let interval = centre(differences, LEVEL).and_then(|found| found.interval);
        match interval {
            // The next verdict needs an interval, whatever the other comparisons are.
            None => return enough(LEVEL),
            Some(ends) if ends.contains(0.0) => return enough(self.level),
            Some(_) => {}
        }
        let narrow = centre(differences, self.level).and_then(|found| {
            let ends = found.interval.filter(|_| found.estimate != 0.0)?;
            let reach = if found.estimate > 0.0 { found.estimate - ends.low } else { ends.high - found.estimate };
            Some((blocks as f64 * (reach / found.estimate).powi(2)).ceil() as usize)
        });
        enough(self.level).max(narrow.unwrap_or(0).saturating_sub(blocks))
    }
}

/// Tests all comparisons, by Holm's procedure with weights.
fn tested(comparisons: &[Comparison], weights: &[f64], levels: &Levels<'_>) -> Vec<Tested> {
    let mut tested: Vec<Tested> = weights.iter().map(|_| Tested { is_shown: false, level: 0.0 }).collect();
    loop {
        let left: f64 = weights.iter().zip(&tested).filter(|(_, test)| !test.is_shown).map(|(weight, _)| weight).sum();
        let mut is_changed = false;
        for (test, (comparison, weight)) in tested.iter_mut().zip(comparisons.iter().zip(weights)) {
            if test.is_shown {
                continue;
            }
            test.level = LEVEL * (weight / left).min(1.0);
            let found = centre(&comparison.differences, levels.of_last(test.level)).and_then(|found| found.interval);
            if found.is_some_and(|ends| !ends.contains(0.0)) {
                (test.is_shown, is_changed) = (true, true);
            }
        }
        if !is_changed {
            return tested;
        }
    }
}

/// Returns the share by which sides must differ so that 9 of 10 comparisons show it and do not call it less than the
/// least effect.
fn power(half_width: f64, level: f64, level_of_own: f64, least: f64) -> Option<f64> {
    if level <= 0.0 || level_of_own <= 0.0 {
        return None;
    }
    let bound = upper_quantile(level / 2.0);
    let error = half_width / bound;
    let shown = (upper_quantile(level_of_own / 2.0) + NINE_OF_TEN) * error;
    let not_less = (1.0 + least).ln() - (bound - NINE_OF_TEN) * error;
    Some(shown.max(not_less).exp_m1())
}

impl Judged {
    /// Returns the verdict, by the interval and the least effect that matters.
    pub fn verdict(&self, least: f64, higher_is_better: bool, is_time: bool) -> Verdict {
        let Some(ends) = self.ratio_ci else { return Verdict::NotJudged };
        if is_within(ends, least) {
            return Verdict::LessThanLeast;
        }
        match (self.is_shown, (self.ratio > 1.0) == higher_is_better, is_time) {
            (false, ..) if ends.contains(1.0) => Verdict::NoDifferenceShown,
            // The interval excludes 1, but one of all comparisons of equals may do that by chance.
            (false, ..) => Verdict::NotJudged,
            (true, true, true) => Verdict::Faster,
            (true, false, true) => Verdict::Slower,
            (true, true, false) => Verdict::Better,
            (true, false, false) => Verdict::Worse,
        }
    }

    /// Returns whether more runs would change nothing that matters: the verdict and its size are known, and so is each
    /// limit.
    pub fn is_decided(&self, least: f64, higher_is_better: bool, limits: &[Limit]) -> bool {
        let Some(ends) = self.ratio_ci else { return false };
        let half = (ends.high / ends.low).ln() / 2.0;
        let is_sized = self.is_shown && half <= (self.ratio.ln().abs() * NARROW).max(least);
        // How many times as bad it is.
        let worse = if higher_is_better { Interval::new(1.0 / ends.high, 1.0 / ends.low) } else { ends };
        let is_open = |limit: &Limit| worse.contains(1.0 + limit.share());
        (is_within(ends, least) || is_sized) && !limits.iter().any(is_open)
    }
}

/// Returns the fewest blocks that have an interval.
pub fn fewest_blocks() -> usize {
    signed_rank::fewest(LEVEL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    const LOOKS: usize = 5;

    /// Pairs of runs of one program: its log time as it drifts, has two modes, or a heavy tail; and a busy program that
    /// comes and goes, which disturbs either run of a block.
    #[derive(Clone, Copy, Debug)]
    enum Machine {
        Steady,
        Drifting,
        TwoModes,
        HeavyTail,
        BusyProgram,
    }

    const MACHINES: [Machine; 5] =
        [Machine::Steady, Machine::Drifting, Machine::TwoModes, Machine::HeavyTail, Machine::BusyProgram];

    fn normal(random: &mut Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    impl Machine {
        /// Returns the logarithm of a run's time, by the number of runs before it.
        fn run(self, number: usize, random: &mut Rng) -> f64 {
            let noise = 0.01 * normal(random);
            noise
                + match self {
                    Self::Steady => 0.0,
                    Self::Drifting => 0.3 * (number as f64 / 40.0).sin(),
                    Self::TwoModes => f64::from(u8::from(random.bool())) * 0.4,
                    Self::HeavyTail => 0.01 / (1.0 - random.f64()).powf(0.8),
                    Self::BusyProgram if number / 23 % 2 == 1 => 0.5 + 0.1 * normal(random),
                    Self::BusyProgram => 0.0,
                }
        }

        /// Returns the differences of blocks in random order, the second side slower by this logarithm.
        fn differences(self, blocks: usize, slower: f64, random: &mut Rng) -> Vec<f64> {
            let of_block = |block: usize| {
                let (first, second) = (self.run(2 * block, random), self.run(2 * block + 1, random));
                slower + if random.bool() { second - first } else { first - second }
            };
            (0..blocks).map(of_block).collect()
        }
    }

    /// Looks at a growing part of the differences until all is decided, as the measurement does.
    fn compared(differences: &[f64], least: f64) -> (Judged, usize) {
        let mut looks = Vec::new();
        for look in 1..=LOOKS {
            let blocks = differences.len() * look / LOOKS;
            looks.push(Look { time_share: look as f64 / LOOKS as f64, blocks: blocks as f64 });
            let comparison = Comparison { differences: differences[..blocks].to_vec(), is_decisive: true };
            let judged = judge(&[comparison], &looks, least)[0];
            if look == LOOKS || judged.is_decided(least, false, &[]) {
                return (judged, blocks);
            }
        }
        unreachable!("the last look ends it")
    }

    fn verdict(judged: &Judged, least: f64) -> Verdict {
        judged.verdict(least, false, true)
    }

    /// 5 % of this number and three standard deviations of such a count.
    const COMPARISONS: usize = 200;
    const MOST: usize = 19;

    #[test]
    fn equals_differ_in_at_most_one_comparison_of_twenty() {
        for machine in MACHINES {
            for blocks in [12, 60] {
                let mut random = Rng::with_seed(blocks as u64);
                let is_wrong = |_: &usize| {
                    let (judged, _) = compared(&machine.differences(blocks, 0.0, &mut random), 0.0);
                    verdict(&judged, 0.0).is_difference()
                };
                let wrong = (0..COMPARISONS).filter(is_wrong).count();
                assert!(wrong <= MOST, "{wrong} of {COMPARISONS}: {machine:?}, {blocks} blocks");
            }
        }
    }

    #[test]
    fn intervals_cover_the_difference_whenever_the_comparison_ends() {
        let slower = 0.02_f64;
        for machine in MACHINES {
            let mut random = Rng::with_seed(3);
            let is_missed = |_: &usize| {
                let (judged, _) = compared(&machine.differences(50, slower, &mut random), 0.01);
                judged.ratio_ci.is_some_and(|ends| !ends.contains(slower.exp()))
            };
            let missed = (0..COMPARISONS).filter(is_missed).count();
            assert!(missed <= MOST, "{missed} of {COMPARISONS}: {machine:?}");
        }
    }

    #[test]
    fn large_differences_end_the_comparison_early() {
        let mut random = Rng::with_seed(4);
        for machine in [Machine::Steady, Machine::Drifting, Machine::BusyProgram] {
            let (judged, blocks) = compared(&machine.differences(100, 0.10, &mut random), 0.01);
            assert_eq!(verdict(&judged, 0.01), Verdict::Slower, "{machine:?}");
            assert!(blocks < 100, "{machine:?}: {blocks}");
        }
        let (judged, blocks) = compared(&Machine::Steady.differences(100, 0.001, &mut random), 0.01);
        assert_eq!((verdict(&judged, 0.01), blocks < 100), (Verdict::LessThanLeast, true));
    }

    #[test]
    fn the_stated_power_is_found_in_nine_of_ten() {
        let looks = [Look { time_share: 1.0, blocks: 40.0 }];
        let mut random = Rng::with_seed(6);
        let mut judged = |slower: f64| {
            let differences = Machine::Steady.differences(40, slower, &mut random);
            judge(&[Comparison { differences, is_decisive: true }], &looks, 0.0)[0]
        };
        let stated: f64 = (0..50).filter_map(|_| judged(0.0).power).sum::<f64>() / 50.0;
        let slower = stated.ln_1p();
        let found = (0..COMPARISONS).filter(|_| verdict(&judged(slower), 0.0) == Verdict::Slower).count();
        let share = found as f64 / COMPARISONS as f64;
        assert!((0.84..0.96).contains(&share), "{share} with {stated}");
    }

    #[test]
    fn several_comparisons_guard_each_other() {
        let looks = [Look { time_share: 1.0, blocks: 30.0 }];
        for sides in [1, 3] {
            let mut random = Rng::with_seed(sides);
            let is_wrong = |_: &usize| {
                let comparisons: Vec<Comparison> = (0..3 * sides)
                    .map(|place| Comparison {
                        differences: Machine::HeavyTail.differences(30, 0.0, &mut random),
                        is_decisive: place < sides,
                    })
                    .collect();
                judge(&comparisons, &looks, 0.0).iter().any(|judged| verdict(judged, 0.0).is_difference())
            };
            let wrong = (0..COMPARISONS).filter(is_wrong).count();
            assert!(wrong <= MOST, "{wrong} of {COMPARISONS}: {sides}");
        }
    }

    #[test]
    fn a_limit_keeps_the_comparison_open_until_it_is_clear() {
        let judged = |low: f64, high: f64| Judged {
            ratio: (low * high).sqrt(),
            ratio_ci: Some(Interval::new(low, high)),
            is_shown: true,
            power: None,
            fewest_blocks: 6,
            missing_blocks: 0,
        };
        let limit: Limit = "slower:5%".parse().unwrap();
        assert!(judged(1.03, 1.06).is_decided(0.01, false, &[]));
        assert!(!judged(1.03, 1.06).is_decided(0.01, false, &[limit]));
        assert!(judged(1.06, 1.09).is_decided(0.01, false, &[limit]));
        assert!(judged(0.99 + 0.005, 1.005).is_decided(0.01, false, &[limit]));
        // Half as many operations per second are twice as bad.
        assert!(!judged(0.94, 0.97).is_decided(0.01, true, &[limit]));
    }

    #[test]
    fn values_of_zero_and_few_blocks_have_no_verdict() {
        assert_eq!(differences(&[1.0, 0.0], &[1.0, 1.0], |_| false), None);
        assert_eq!(differences(&[2.0, 0.0], &[1.0, 1.0], |block| block == 1), Some(vec![2.0_f64.ln()]));
        let looks = [Look { time_share: 1.0, blocks: 5.0 }];
        let judged = judge(&[Comparison { differences: vec![0.5; 5], is_decisive: true }], &looks, 0.01)[0];
        assert_eq!((judged.ratio_ci, verdict(&judged, 0.01)), (None, Verdict::NotJudged));
        assert_eq!((judged.missing_blocks, fewest_blocks()), (1, 6));
    }

    /// The verdicts of `blocks` of one metric that decides and two that do not: all sides differ in the same way.
    fn verdicts(blocks: usize, decisive: f64, others: f64) -> Vec<(Verdict, usize)> {
        let looks = [Look { time_share: 1.0, blocks: blocks as f64 }];
        let comparison = |center: f64, is_decisive| {
            let differences = (0..blocks).map(|block| center + 0.01 * (block % 3) as f64 - 0.01).collect();
            Comparison { differences, is_decisive }
        };
        let comparisons = [comparison(decisive, true), comparison(others, false), comparison(others, false)];
        let judged = judge(&comparisons, &looks, 0.01);
        judged.iter().map(|judged| (verdict(judged, 0.01), judged.missing_blocks)).collect()
    }

    #[test]
    fn excluded_one_without_a_guarded_verdict_is_not_judged() {
        let (shown, six_times) = (0.5, 6.32_f64.ln());
        // In six runs a decisive metric can be shown, and others with what it passes on only in seven.
        assert_eq!(
            verdicts(6, shown, six_times),
            [(Verdict::Slower, 0), (Verdict::NotJudged, 1), (Verdict::NotJudged, 1)]
        );
        assert_eq!(verdicts(7, shown, six_times)[1..], [(Verdict::Slower, 0); 2]);
        // The stated number of runs is enough.
        let (not_judged, missing) = verdicts(6, 0.0, six_times)[1];
        assert_eq!((not_judged, missing), (Verdict::NotJudged, 3));
        assert_eq!(verdicts(6 + missing - 1, 0.0, six_times)[1], (Verdict::NotJudged, 1));
        assert_eq!(verdicts(6 + missing, 0.0, six_times)[1].0, Verdict::Slower);
    }

    #[test]
    fn verdicts_never_contradict_their_intervals() {
        let mut random = Rng::with_seed(9);
        let mut not_judged = 0;
        for number in 0..600 {
            let blocks = 6 + number % 20;
            let looks = [Look { time_share: 1.0, blocks: blocks as f64 }];
            let comparisons: Vec<Comparison> = (0..6)
                .map(|place| Comparison {
                    differences: Machine::Steady.differences(blocks, 0.006 * (place % 3) as f64, &mut random),
                    is_decisive: place < 2,
                })
                .collect();
            for judged in judge(&comparisons, &looks, 0.001) {
                let is_excluded = judged.ratio_ci.is_some_and(|ends| !ends.contains(1.0));
                match verdict(&judged, 0.001) {
                    Verdict::NoDifferenceShown => assert!(!is_excluded, "{judged:?}"),
                    Verdict::NotJudged => {
                        not_judged += 1;
                        assert!(is_excluded && judged.missing_blocks > 0, "{judged:?}");
                    }
                    verdict => assert!(is_excluded || verdict == Verdict::LessThanLeast, "{judged:?}"),
                }
            }
        }
        assert!(not_judged > 50, "{not_judged}");
    }

    /// The wall times of two copies of one program while two busy programs came and went on the same two CPUs, block by
    /// block: 2-vCPU virtual machine, AMD EPYC (Zen 4), Linux 6.18.
    const RECORDED: &str = include_str!("busy_pairs.csv");

    #[test]
    fn recorded_equals_differ_at_most_once_in_twenty() {
        let number = |text: &str| text.trim().parse::<f64>().unwrap();
        let pairs = RECORDED.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once(',').unwrap());
        let recorded: Vec<f64> = pairs.map(|(first, second)| (number(second) / number(first)).ln()).collect();
        assert!(recorded.len() >= 60, "{}", recorded.len());
        // Each order of a block was as likely as the other.
        let mut random = Rng::with_seed(8);
        let is_wrong = |_: &usize| {
            let drawn: Vec<f64> = recorded.iter().map(|one| if random.bool() { *one } else { -*one }).collect();
            verdict(&compared(&drawn, 0.0).0, 0.0).is_difference()
        };
        let wrong = (0..COMPARISONS).filter(is_wrong).count();
        assert!(wrong <= MOST, "{wrong} of {COMPARISONS}");
    }
}
