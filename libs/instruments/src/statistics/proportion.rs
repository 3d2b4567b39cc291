//! The confidence interval of a probability from a number of occurrences.
//!
//! The interval is that of Clopper and Pearson ("The use of confidence or fiducial limits illustrated in the case of the
//! binomial", Biometrika 1934): it is exact, so its coverage is at least the confidence for every true probability, and
//! it has a width even where nothing, or everything, occurred.

use super::Interval;
use statrs::distribution::{Beta, ContinuousCDF};

/// Returns the confidence interval of the probability of which `of` independent trials had `occurred` occurrences;
/// `None` without a trial, or with more occurrences than trials.
///
/// # Examples
///
/// ```
/// use instruments::statistics::proportion::interval;
///
/// let none_of_100 = interval(0, 100, 0.95).unwrap();
/// assert_eq!(none_of_100.low, 0.0);
/// assert!((none_of_100.high - 0.0362).abs() < 1e-4);
/// assert_eq!(interval(0, 0, 0.95), None);
/// ```
pub fn interval(occurred: u64, of: u64, confidence: f64) -> Option<Interval> {
    if of == 0 || occurred > of || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let (tail, absent) = ((1.0 - confidence) / 2.0, of - occurred);
    let quantile = |a: u64, b: u64, p: f64| Beta::new(a as f64, b as f64).ok().map(|beta| beta.inverse_cdf(p));
    let low = if occurred == 0 { 0.0 } else { quantile(occurred, absent + 1, tail)? };
    let high = if absent == 0 { 1.0 } else { quantile(occurred + 1, absent, 1.0 - tail)? };
    Some(Interval::new(low, high))
}
