//! One side's figures over the plain ones.

use instruments::statistics::Ratio;
use instruments::statistics::bootstrap::ratio_of_medians;

/// The ratio of the medians, with its interval; `None` with fewer than six runs of either.
///
/// The same samples give the same interval: what is random in it has the run's seed.
pub fn ratio(over: &[f64], under: &[f64], seed: u64) -> Option<Ratio> {
    ratio_of_medians(over, under, 0.95, &mut fastrand::Rng::with_seed(seed))
}

/// How far the runs of the same differ: the largest over the smallest.
pub fn spread(samples: &[f64]) -> f64 {
    let (least, most) = samples.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
    if least > 0.0 { most / least } else { 1.0 }
}
