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
use launch::Limit;

/// All verdicts of a comparison of equals together show a difference at most this often.
pub const LEVEL: f64 = 0.05;
/// The part of the error that the decisive metric has.
const DECISIVE: f64 = 0.8;
/// The quantile of the normal distribution for 9 of 10 comparisons.
const NINE_OF_TEN: f64 = 1.281_552;
/// An interval is narrow enough to end a comparison if half of it is at most this part of the difference.
const NARROW: f64 = 1.0 / 3.0;

/// The differences of two sides in one metric, by block; `None` where a value is 0, which has no ratio.
pub fn differences(over: &[f64], under: &[f64], is_omitted: impl Fn(usize) -> bool) -> Option<Vec<f64>> {
    let used = || over.iter().zip(under).enumerate().filter(|(block, _)| !is_omitted(*block)).map(|(_, pair)| pair);
    let is_positive = used().all(|(over, under)| *over > 0.0 && *under > 0.0);
    is_positive.then(|| used().map(|(over, under)| (over / under).ln()).collect())
}

/// One comparison of two sides in one metric.
pub struct Comparison {
    /// By block.
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
    let shown = shown(comparisons, &weights, looks);
    let level = level_of_last(LEVEL, looks);
    let one = |(place, comparison): (usize, &Comparison)| {
        let found = centre(&comparison.differences, level)?;
        let log_ci = found.interval;
        let level_of_own = level_of_last(LEVEL * weights[place], looks);
        let power = log_ci.and_then(|ends| power(ends.width() / 2.0, level, level_of_own, least));
        Some(Judged {
            ratio: found.estimate.exp(),
            ratio_ci: log_ci.map(|ends| Interval::new(ends.low.exp(), ends.high.exp())),
            is_shown: shown[place],
            power,
        })
    };
    let unknown = Judged { ratio: 1.0, ratio_ci: None, is_shown: false, power: None };
    comparisons.iter().enumerate().map(|place| one(place).unwrap_or(unknown)).collect()
}

/// Which differences are shown, by Holm's procedure with weights.
fn shown(comparisons: &[Comparison], weights: &[f64], looks: &[Look]) -> Vec<bool> {
    let mut shown = vec![false; comparisons.len()];
    loop {
        let left: f64 = weights.iter().zip(&shown).filter(|(_, shown)| !**shown).map(|(weight, _)| weight).sum();
        let mut is_changed = false;
        for place in (0..comparisons.len()).filter(|place| !shown[*place]).collect::<Vec<_>>() {
            let level = level_of_last(LEVEL * (weights[place] / left).min(1.0), looks);
            let found = centre(&comparisons[place].differences, level).and_then(|found| found.interval);
            if found.is_some_and(|ends| !ends.contains(0.0)) {
                (shown[place], is_changed) = (true, true);
            }
        }
        if !is_changed {
            return shown;
        }
    }
}

/// The share by which sides must differ so that 9 of 10 comparisons show it and do not call it less than the least
/// effect.
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
    /// The verdict, by the interval and the least effect that matters.
    pub fn verdict(&self, least: f64, higher_is_better: bool, is_time: bool) -> Verdict {
        let Some(ends) = self.ratio_ci else { return Verdict::NoDifferenceShown };
        if is_within(ends, least) {
            return Verdict::LessThanLeast;
        }
        match (self.is_shown, (self.ratio > 1.0) == higher_is_better, is_time) {
            (false, ..) => Verdict::NoDifferenceShown,
            (true, true, true) => Verdict::Faster,
            (true, false, true) => Verdict::Slower,
            (true, true, false) => Verdict::Better,
            (true, false, false) => Verdict::Worse,
        }
    }

    /// Whether more runs would change nothing that matters: the verdict and its size are known, and so is each limit.
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

/// Whether every plausible ratio differs by less than the least effect.
fn is_within(ends: Interval, least: f64) -> bool {
    ends.low > 1.0 / (1.0 + least) && ends.high < 1.0 + least
}

/// The fewest blocks that have an interval.
pub fn fewest_blocks() -> usize {
    signed_rank::fewest(LEVEL)
}
