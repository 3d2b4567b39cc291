//! Confidence intervals of a quantile from order statistics, without an assumption about the distribution.
//!
//! Among `n` independent samples, the number of those at or below the true `q`-quantile is binomial with `n` trials
//! of probability `q`, whatever the distribution. The true quantile is therefore between the `l`-th and the `u`-th
//! smallest sample with the probability that this binomial is in `l..u` (Conover, "Practical Nonparametric
//! Statistics", 3.2; Le Boudec, "Performance Evaluation of Computer and Communication Systems", 2.2).
//!
//! Among all pairs of ranks whose probability is *at least* the confidence, [`ranks`] returns the closest. The
//! coverage is therefore never below the stated one, and for few samples slightly above, because ranks are integers:
//! for a median 95.0 to 97.0 % instead of 95 % from 38 samples on. Interpolation between ranks would be nearer to 95
//! %, but its ends would be values that were not measured and that the clock cannot show. This module returns
//! measured ends.
use super::interval::Interval;
use crate::tally::{Tally, nearest_rank};

/// Variance up to which the binomial is summed term by term, which takes a few thousand terms at most. It covers a
/// million samples for the median, twenty-five million for p99; beyond it, the normal approximation is exact to a
/// rank or two in the hundreds that the interval spans.
const EXACT_UP_TO_VARIANCE: f64 = 250_000.0;

/// Size of terms, relative to the largest, below which they are omitted from the binomial sum.
const NEGLIGIBLE: f64 = 1e-18;

/// Bound of the rounding errors of a sum of thousands of terms; a probability that is less than this below the
/// confidence has reached it.
const SUM_ERROR: f64 = 1e-12;

/// Returns the ranks, counted from 1, of the two order statistics that enclose the `q`-quantile of `n` samples with
/// at least this confidence.
///
/// They are as close to each other as possible; among equally close pairs, the one with the most equal tails is
/// returned. The result is `None` if there is no such pair: if `q` or `confidence` is not strictly between 0 and 1,
/// or if `n` is too small, because even the range from minimum to maximum has too low a probability. At 95 % a median
/// needs 6 samples, p90 needs 29, p99 needs 299 and p99.9 needs 2,995.
///
/// # Examples
///
/// ```
/// use instruments::statistics::order::ranks;
///
/// assert_eq!(ranks(6, 0.5, 0.95), Some((1, 6)));
/// assert_eq!(ranks(5, 0.5, 0.95), None);
/// assert_eq!(ranks(100, 0.5, 0.95), Some((40, 60)));
/// ```
pub fn ranks(n: u64, q: f64, confidence: f64) -> Option<(u64, u64)> {
    let inside = |p: f64| p > 0.0 && p < 1.0;
    if n == 0 || !inside(q) || !inside(confidence) {
        return None;
    }
    if n as f64 * q * (1.0 - q) <= EXACT_UP_TO_VARIANCE {
        closest_ranks(&Binomial::new(n, q), n, confidence)
    } else {
        normal_ranks(n, q, confidence)
    }
}

/// Returns the probability that the `lower`-th to `upper`-th smallest of `n` samples enclose the `q`-quantile of a
/// continuous distribution.
///
/// # Examples
///
/// ```
/// use instruments::statistics::order::coverage;
///
/// assert!((coverage(6, 0.5, (1, 6)) - 0.96875).abs() < 1e-12);
/// ```
pub fn coverage(n: u64, q: f64, (lower, upper): (u64, u64)) -> f64 {
    let binomial = Binomial::new(n, q);
    let terms = binomial.first..binomial.first + binomial.terms.len() as u64;
    terms.zip(&binomial.terms).filter(|(k, _)| (lower..upper).contains(k)).map(|(_, p)| p).sum()
}

/// The probabilities of a binomial, without its negligible ends.
struct Binomial {
    first: u64,
    terms: Vec<f64>,
}

impl Binomial {
    /// Starts at the most likely number and multiplies towards both sides, so that nothing underflows or overflows,
    /// then divides by the sum.
    fn new(n: u64, q: f64) -> Self {
        let odds = q / (1.0 - q);
        let mode = (((n + 1) as f64 * q) as u64).min(n);
        let mut below = Vec::new();
        let mut term = 1.0;
        for k in (1..=mode).rev() {
            term *= k as f64 / ((n - k + 1) as f64 * odds);
            if term < NEGLIGIBLE {
                break;
            }
            below.push(term);
        }
        let first = mode - below.len() as u64;
        let mut terms: Vec<f64> = below.into_iter().rev().collect();
        terms.push(1.0);
        term = 1.0;
        for k in mode..n {
            term *= (n - k) as f64 * odds / (k + 1) as f64;
            if term < NEGLIGIBLE {
                break;
            }
            terms.push(term);
        }
        let sum: f64 = terms.iter().sum();
        terms.iter_mut().for_each(|term| *term /= sum);
        Self { first, terms }
    }
}

/// Slides a window over the binomial: for every lower rank, it finds the lowest sufficient upper rank.
fn closest_ranks(binomial: &Binomial, n: u64, confidence: f64) -> Option<(u64, u64)> {
    let Binomial { first, terms } = binomial;
    // cumulative[i] is the probability of fewer than first + i.
    let mut cumulative = vec![0.0];
    cumulative.extend(terms.iter().scan(0.0, |sum, term| {
        *sum += term;
        Some(*sum)
    }));
    let mut best: Option<(u64, f64, (u64, u64))> = None;
    let mut end = 0;
    for start in 0..terms.len() {
        let lower = first + start as u64;
        // A rank of 0 would be "minus infinity", one of n + 1 "plus infinity": neither was measured.
        if lower == 0 {
            continue;
        }
        while end < terms.len() && cumulative[end] - cumulative[start] < confidence - SUM_ERROR {
            end += 1;
        }
        let upper = first + end as u64;
        if upper > n || cumulative[end] - cumulative[start] < confidence - SUM_ERROR {
            break;
        }
        let lopsided = (cumulative[start] - (1.0 - cumulative[end])).abs();
        // Mirrored pairs differ by rounding only, so the first of them, the lower, is kept.
        if best.is_none_or(|(width, tails, _)| (upper - lower, lopsided + SUM_ERROR) < (width, tails)) {
            best = Some((upper - lower, lopsided, (lower, upper)));
        }
    }
    best.map(|(_, _, ranks)| ranks)
}

/// Returns the ranks by equal tails of the normal approximation with continuity correction, rounded outwards.
fn normal_ranks(n: u64, q: f64, confidence: f64) -> Option<(u64, u64)> {
    let mean = n as f64 * q;
    let reach = normal_quantile(0.5 + confidence / 2.0) * (mean * (1.0 - q)).sqrt();
    let lower = (mean - reach + 0.5).floor();
    let upper = (mean + reach + 0.5).ceil();
    (lower >= 1.0 && upper <= n as f64).then_some((lower as u64, upper as u64))
}

/// Returns the least number of samples that have an interval of their `q`-quantile, see [`ranks`].
///
/// # Examples
///
/// ```
/// use instruments::statistics::order::fewest_samples;
///
/// assert_eq!(fewest_samples(0.5, 0.95), 6);
/// ```
///
/// # Panics
/// `q` is not between 0 and 1, or `confidence` is 1: then no number is enough.
pub fn fewest_samples(q: f64, confidence: f64) -> u64 {
    assert!(q > 0.0 && q < 1.0 && confidence < 1.0, "no number of samples is enough");
    (1..).find(|&samples| ranks(samples, q, confidence).is_some()).unwrap_or(u64::MAX)
}

/// Returns the quantile of the standard normal distribution, by bisection of its series: rare calls favour simple
/// code.
fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if normal_cumulative(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Returns the distribution function of the standard normal: the all-positive series x + x³/3 + x⁵/15 + … times the
/// density.
fn normal_cumulative(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Returns the interval of the `q`-quantile of `tally`; `None` for too few samples, see [`ranks`].
///
/// # Examples
///
/// ```
/// use instruments::statistics::{Interval, order::quantile_interval};
/// use instruments::tally::Tally;
///
/// let tally: Tally = (1..=100).collect();
/// assert_eq!(quantile_interval(&tally, 0.5, 0.95), Some(Interval::new(40.0, 60.0)));
/// ```
pub fn quantile_interval(tally: &Tally, q: f64, confidence: f64) -> Option<Interval> {
    let (lower, upper) = ranks(tally.count(), q, confidence)?;
    Some(Interval::new(tally.at_rank(lower)? as f64, tally.at_rank(upper)? as f64))
}

/// Returns the interval of the `q`-quantile of `samples`, in any order; `None` for too few samples, see [`ranks`].
///
/// # Examples
///
/// ```
/// use instruments::statistics::{Interval, order::sample_quantile_interval};
///
/// let samples = [5.1, 5.3, 4.9, 5.0, 5.2, 9.7];
/// assert_eq!(sample_quantile_interval(&samples, 0.5, 0.95), Some(Interval::new(4.9, 9.7)));
/// ```
pub fn sample_quantile_interval(samples: &[f64], q: f64, confidence: f64) -> Option<Interval> {
    let (lower, upper) = ranks(samples.len() as u64, q, confidence)?;
    let sorted = sorted(samples);
    Some(Interval::new(sorted[lower as usize - 1], sorted[upper as usize - 1]))
}

/// Returns the `q`-quantile of `samples` by nearest rank, as [`Tally::quantile`] does.
///
/// # Examples
///
/// ```
/// use instruments::statistics::order::sample_quantile;
///
/// assert_eq!(sample_quantile(&[3.0, 1.0, 2.0, 4.0], 0.9), Some(4.0));
/// ```
pub fn sample_quantile(samples: &[f64], q: f64) -> Option<f64> {
    if samples.is_empty() || q.is_nan() {
        return None;
    }
    Some(sorted(samples)[nearest_rank(q, samples.len() as u64) as usize - 1])
}

/// Returns the middle one of `samples`, or the mean of the middle two.
///
/// # Examples
///
/// ```
/// use instruments::statistics::order::median;
///
/// assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), Some(2.5));
/// assert_eq!(median(&[]), None);
/// ```
pub fn median(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| median_of_sorted(&sorted(samples)))
}

/// Returns the median of samples that are sorted and not empty.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// Returns a sorted copy.
pub(crate) fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}
