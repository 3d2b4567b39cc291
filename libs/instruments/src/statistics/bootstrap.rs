//! Confidence intervals of ratios by the bootstrap.
//!
//! The bootstrap estimates how the ratio would vary if the samples were drawn again. It draws them from the samples
//! themselves, two thousand times, and takes the middle 95 % of the resulting ratios (the percentile interval; Efron
//! and Tibshirani, "An Introduction to the Bootstrap", 13). For medians that is the appropriate variant: the
//! acceleration of the BCa interval comes from the jackknife, which is inconsistent for a median. For means of few,
//! very skewed samples the percentile interval is too narrow; compare medians there.
use serde::{Deserialize, Serialize};

use super::interval::Interval;
use super::order::{median_of_sorted, sorted};

/// Number of resamples, with which the ends of the interval move by about 1.5 % of its width from seed to seed.
const RESAMPLES: usize = 2_000;

/// Least number of samples on either side: fewer can be similar by chance, and their resamples would then claim a
/// false certainty.
const FEWEST: usize = 6;

/// The ratio of two quantities, with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ratio {
    /// Ratio of the measured samples.
    pub estimate: f64,
    /// Confidence interval of the ratio.
    pub interval: Interval,
}

impl Ratio {
    /// Returns whether the interval excludes 1; if not, print that there is no difference.
    pub fn shows_difference(&self) -> bool {
        !self.interval.contains(1.0)
    }
}

/// Returns the median of `over` divided by the median of `under`, two independent sets of samples.
///
/// The result is `None` with fewer than six samples on a side, if a median of `under` is or may well be zero, or if
/// `confidence` is not strictly between 0 and 1.
///
/// # Examples
///
/// ```
/// use instruments::statistics::bootstrap::ratio_of_medians;
///
/// let slow: Vec<f64> = (0..50).map(|i| 200.0 + f64::from(i % 7)).collect();
/// let fast: Vec<f64> = (0..50).map(|i| 100.0 + f64::from(i % 5)).collect();
/// let ratio = ratio_of_medians(&slow, &fast, 0.95, &mut fastrand::Rng::with_seed(1)).unwrap();
/// assert!((ratio.estimate - 1.99).abs() < 0.01);
/// assert!(ratio.shows_difference());
/// ```
pub fn ratio_of_medians(over: &[f64], under: &[f64], confidence: f64, rng: &mut fastrand::Rng) -> Option<Ratio> {
    let (over, under) = (sorted(over), sorted(under));
    let estimate = || median_of_sorted(&over) / median_of_sorted(&under);
    let again = |rng: &mut fastrand::Rng| resampled_median(&over, rng) / resampled_median(&under, rng);
    let enough = over.len().min(under.len()) >= FEWEST;
    enough.then(|| percentile(estimate(), confidence, rng, again)).flatten()
}

/// Returns the mean of `over` divided by the mean of `under`, two independent sets of samples.
///
/// The result is `None` in the cases of [`ratio_of_medians`].
pub fn ratio_of_means(over: &[f64], under: &[f64], confidence: f64, rng: &mut fastrand::Rng) -> Option<Ratio> {
    let estimate = || mean(over) / mean(under);
    let again = |rng: &mut fastrand::Rng| resampled_mean(over, rng) / resampled_mean(under, rng);
    let enough = over.len().min(under.len()) >= FEWEST;
    enough.then(|| percentile(estimate(), confidence, rng, again)).flatten()
}

/// Returns the percentile interval around `estimate`, from many calls of `again`.
fn percentile(
    estimate: f64,
    confidence: f64,
    rng: &mut fastrand::Rng,
    mut again: impl FnMut(&mut fastrand::Rng) -> f64,
) -> Option<Ratio> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let mut ratios: Vec<f64> = (0..RESAMPLES).map(|_| again(rng)).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let tail = ((1.0 - confidence) / 2.0 * RESAMPLES as f64).round() as usize;
    let tail = tail.min((RESAMPLES - 1) / 2);
    let interval = Interval::new(ratios[tail], ratios[RESAMPLES - 1 - tail]);
    let finite = estimate.is_finite() && interval.low.is_finite() && interval.high.is_finite();
    finite.then_some(Ratio { estimate, interval })
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Returns the mean of a resample of the same size, drawn with replacement.
fn resampled_mean(samples: &[f64], rng: &mut fastrand::Rng) -> f64 {
    let sum: f64 = samples.iter().map(|_| samples[rng.usize(..samples.len())]).sum();
    sum / samples.len() as f64
}

/// Returns the median of a resample of the same size, drawn with replacement, without drawing all values.
///
/// Drawing a sample means drawing a uniform position among the sorted samples. The k-th smallest of n uniform
/// positions follows the beta distribution with parameters k and n + 1 - k, so that one draw replaces n. The next
/// position above it is the smallest of the n - k that remain, which are uniform between it and the end.
fn resampled_median(sorted: &[f64], rng: &mut fastrand::Rng) -> f64 {
    let n = sorted.len();
    let at = |position: f64| sorted[((position * n as f64) as usize).min(n - 1)];
    let k = n.div_ceil(2);
    let position = beta(k as f64, (n + 1 - k) as f64, rng);
    if n % 2 == 1 {
        return at(position);
    }
    let step = 1.0 - rng.f64().powf(1.0 / (n - k) as f64);
    (at(position) + at(position + (1.0 - position) * step)) / 2.0
}

/// Returns a draw from the beta distribution, both parameters at least 1.
fn beta(a: f64, b: f64, rng: &mut fastrand::Rng) -> f64 {
    let x = gamma(a, rng);
    x / (x + gamma(b, rng))
}

/// Returns a draw from the gamma distribution with shape at least 1, by Marsaglia and Tsang, "A Simple Method for
/// Generating Gamma Variables" (2000).
fn gamma(shape: f64, rng: &mut fastrand::Rng) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - rng.f64()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// Returns a draw from the standard normal distribution, by Box and Muller.
fn normal(rng: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * rng.f64()).cos()
}
