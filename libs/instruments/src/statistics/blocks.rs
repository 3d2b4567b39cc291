//! Confidence intervals of shares and medians of values that came in blocks, and depend on each other within a block.
//!
//! Observations during one neighbour's activity have that neighbour in common. A thousand iterations of one period
//! contain no more information about the next period than one of them. The scatter is therefore taken between blocks.
//! That of a share is the ratio estimator's of survey samples drawn in clusters (Cochran, "Sampling Techniques", 3rd
//! edition, 6.4 and 10). That of a median is the same of the share of values below it, converted back to values
//! (Woodruff, 1952; see [`slices`]). Both are computed on the scale of the odds, on which no share exceeds 0 or 1.
//! The degrees of freedom are those of the effective number of equal blocks: short blocks do not make one long block
//! better known.
//!
//! [`slices`]: super::slices

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::interval::Interval;
use super::order::{median_of_sorted, sample_quantile_interval, sorted};

/// Least effective number of blocks for which the scatter between them is known.
const FEWEST: f64 = 4.0;

/// Returns the interval of a share, by the hits and the count of each block.
///
/// The result is `None` for too few blocks, or a share of 0 or 1.
///
/// # Examples
///
/// ```
/// use instruments::statistics::blocks::share_interval;
///
/// // A third in total, but all or nothing in each block: hardly anything is known.
/// let blocks = [(0.0, 1e6), (0.0, 1e6), (1e6, 1e6), (0.0, 1e6), (1e6, 1e6), (0.0, 1e6)];
/// let found = share_interval(&blocks, 0.95).unwrap();
/// assert!(found.low < 0.1 && found.high > 0.7);
/// ```
pub fn share_interval(blocks: &[(f64, f64)], confidence: f64) -> Option<Interval> {
    let share = blocks.iter().map(|block| block.0).sum::<f64>() / blocks.iter().map(|block| block.1).sum::<f64>();
    let reach = reach(blocks, share, confidence)?;
    let odds = (share / (1.0 - share)).ln();
    let share_of = |odds: f64| 1.0 / (1.0 + (-odds).exp());
    let interval = Interval::new(share_of(odds - reach), share_of(odds + reach));
    (share > 0.0 && share < 1.0).then_some(interval)
}

/// Returns the interval of the median of all values; it is never narrower than for independent values.
///
/// The result is `None` for too few blocks.
pub fn median_interval(blocks: &[Vec<f64>], confidence: f64) -> Option<Interval> {
    let all = sorted(&blocks.concat());
    let independent = sample_quantile_interval(&all, 0.5, confidence)?;
    let median = median_of_sorted(&all);
    let below = |values: &Vec<f64>| values.iter().filter(|value| **value <= median).count() as f64;
    let counts: Vec<(f64, f64)> = blocks.iter().map(|values| (below(values), values.len() as f64)).collect();
    // If many values equal the median, the interval is still that of the half of all values.
    let reach = reach(&counts, 0.5, confidence)?;
    let at = |share: f64| all[((share * all.len() as f64) as usize).min(all.len() - 1)];
    let low = 1.0 / (1.0 + reach.exp());
    Some(Interval::new(at(low).min(independent.low), at(1.0 - low).max(independent.high)))
}

/// Returns the distance from `about`, on the scale of the odds, within which the share may be.
fn reach(blocks: &[(f64, f64)], about: f64, confidence: f64) -> Option<f64> {
    let (hits, count) = blocks.iter().fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
    let in_effect = count * count / blocks.iter().map(|block| block.1 * block.1).sum::<f64>();
    let chance = StudentsT::new(0.0, 1.0, in_effect - 1.0).ok().filter(|_| in_effect >= FEWEST)?;
    let share = hits / count;
    // The deviation corresponds to excluding each block once: a long one draws the share towards itself.
    let off = |(hits, of): &(f64, f64)| (hits - share * of) / (1.0 - of / count);
    let deviation = blocks.iter().map(|block| off(block).powi(2)).sum::<f64>().sqrt() / count;
    Some(chance.inverse_cdf(0.5 + confidence / 2.0) * deviation / (about * (1.0 - about)))
}
