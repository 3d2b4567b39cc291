//! Estimates as measurements make them, and as rows have them.

use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;
use terminal::slowdown;

/// The median of independent values and its 95 % interval; `None` without any.
pub fn median_of(values: &[f64]) -> Option<Estimate> {
    Some(Estimate::new(median(values)?, sample_quantile_interval(values, 0.5, CONFIDENCE)))
}

/// Writes a slowdown and its interval: `1.0012 (1.0008–1.0020)`.
pub fn slowdown_with(value: f64, interval: Option<Interval>) -> String {
    let ends = interval.map(|ends| format!(" ({}–{})", slowdown(ends.low), slowdown(ends.high)));
    slowdown(value) + &ends.unwrap_or_default()
}

/// The two fields of a row: the value and its interval.
pub fn fields(estimate: Option<Estimate>) -> (Option<f64>, Option<Interval>) {
    (estimate.map(|estimate| estimate.value), estimate.and_then(|estimate| estimate.interval))
}
