//! The summary statistics of a distribution.
use serde::{Deserialize, Serialize};

use super::interval::Interval;
use super::order::quantile_interval;
use crate::tally::Tally;

/// Confidence of every interval in a summary.
pub const CONFIDENCE: f64 = 0.95;

/// Count, extremes, quantiles and mean of a tally, in the tally's unit, with 95 % confidence intervals for the
/// quantiles.
///
/// No sample is excluded from any value. An interval is `None` for too few samples, see
/// [`order::ranks`](super::order::ranks).
///
/// # Examples
///
/// ```
/// use instruments::statistics::Summary;
/// use instruments::tally::Tally;
///
/// let ticks: Tally = (1..=1000).collect();
/// let summary = Summary::of(&ticks).unwrap().scaled(0.5);
/// assert_eq!(summary.p99, 495.0);
/// assert!(summary.p50_ci.unwrap().contains(250.0));
/// assert_eq!(summary.p999_ci, None);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Number of samples.
    pub count: u64,
    /// Minimum.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 95 % confidence interval of the median.
    pub p50_ci: Option<Interval>,
    /// Value that 90 % of the samples do not exceed.
    pub p90: f64,
    /// 95 % confidence interval of `p90`.
    pub p90_ci: Option<Interval>,
    /// Value that 99 % of the samples do not exceed.
    pub p99: f64,
    /// 95 % confidence interval of `p99`.
    pub p99_ci: Option<Interval>,
    /// Value that 99.9 % of the samples do not exceed.
    pub p999: f64,
    /// 95 % confidence interval of `p999`.
    pub p999_ci: Option<Interval>,
    /// Maximum.
    pub max: f64,
    /// Arithmetic mean, never to be shown without the median.
    pub mean: f64,
}

impl Summary {
    /// Summarises a tally; `None` if it is empty.
    pub fn of(tally: &Tally) -> Option<Self> {
        let at = |q| tally.quantile(q).map(|value| value as f64);
        let interval = |q| quantile_interval(tally, q, CONFIDENCE);
        Some(Self {
            count: tally.count(),
            min: tally.min()? as f64,
            p50: at(0.5)?,
            p50_ci: interval(0.5),
            p90: at(0.9)?,
            p90_ci: interval(0.9),
            p99: at(0.99)?,
            p99_ci: interval(0.99),
            p999: at(0.999)?,
            p999_ci: interval(0.999),
            max: tally.max()? as f64,
            mean: tally.mean()?,
        })
    }

    /// Returns the same summary in another unit: every value except the count multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Self {
        let scale = |interval: Option<Interval>| interval.map(|interval| interval.scaled(factor));
        Self {
            count: self.count,
            min: self.min * factor,
            p50: self.p50 * factor,
            p50_ci: scale(self.p50_ci),
            p90: self.p90 * factor,
            p90_ci: scale(self.p90_ci),
            p99: self.p99 * factor,
            p99_ci: scale(self.p99_ci),
            p999: self.p999 * factor,
            p999_ci: scale(self.p999_ci),
            max: self.max * factor,
            mean: self.mean * factor,
        }
    }
}

/// Returns the coefficient of variation of these counts: their standard deviation divided by their mean, 0 if all are 0.
///
/// # Examples
///
/// ```
/// use instruments::statistics::coefficient_of_variation;
///
/// assert_eq!(coefficient_of_variation(&[5, 5, 5]), 0.0);
/// assert_eq!(coefficient_of_variation(&[10, 0]), 1.0);
/// assert_eq!(coefficient_of_variation(&[]), 0.0);
/// ```
pub fn coefficient_of_variation(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64;
    if mean == 0.0 {
        return 0.0;
    }
    let variance = counts.iter().map(|&count| (count as f64 - mean).powi(2)).sum::<f64>() / counts.len() as f64;
    variance.sqrt() / mean
}
