//! The figures that stand for a distribution.
use serde::{Deserialize, Serialize};

use super::interval::Interval;
use super::order::quantile_interval;
use crate::tally::Tally;

/// The confidence of every interval in a summary.
pub const CONFIDENCE: f64 = 0.95;

/// Count, extremes, quantiles and mean of a tally, in the tally's unit, with 95 % intervals for the quantiles.
///
/// No sample is left out of any figure. An interval is `None` where there are too few samples for one, see
/// [`order::ranks`](super::order::ranks).
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
    /// How many samples.
    pub count: u64,
    /// The smallest.
    pub min: f64,
    /// The median.
    pub p50: f64,
    /// The 95 % interval of the median.
    pub p50_ci: Option<Interval>,
    /// The value that 90 % do not exceed.
    pub p90: f64,
    /// The 95 % interval of `p90`.
    pub p90_ci: Option<Interval>,
    /// The value that 99 % do not exceed.
    pub p99: f64,
    /// The 95 % interval of `p99`.
    pub p99_ci: Option<Interval>,
    /// The value that 99.9 % do not exceed.
    pub p999: f64,
    /// The 95 % interval of `p999`.
    pub p999_ci: Option<Interval>,
    /// The largest.
    pub max: f64,
    /// The arithmetic mean, never to be shown without the median.
    pub mean: f64,
}

impl Summary {
    /// Summarises a tally; `None` when it is empty.
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

    /// The same summary in another unit: every figure but the count multiplied by `factor`.
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
