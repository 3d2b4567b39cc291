//! Separate values for the time with the core exclusive and the time with the core shared.

use super::probe::Sharing;
use crate::statistics::comparison::Estimate;
use crate::statistics::order::{median, sample_quantile_interval};
use crate::statistics::ranks::rank_correlation;
use crate::statistics::summary::CONFIDENCE;

/// The medians of values, separated by the use of the core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// Median with the core exclusive; `None` for too few values.
    pub alone: Option<Estimate>,
    /// Median with the core shared; `None` for too few values.
    pub shared: Option<Estimate>,
    /// Share of values with the core shared, among those that are known to be one or the other; `None` without any.
    pub shared_share: Option<f64>,
    /// Rank correlation (Spearman's) of the values with sharing, from -1 to 1; `None` if all were of one kind.
    pub correlation: Option<f64>,
}

/// Least number of values with an interval at 95 %.
const FEWEST: usize = 6;

impl Split {
    /// Separates windows, each with values that depend on each other: a window counts once on each side, with its
    /// median.
    pub fn of_turns<V: IntoIterator<Item = (f64, Sharing)>>(windows: impl IntoIterator<Item = V>) -> Self {
        let (mut alone, mut shared) = (Vec::new(), Vec::new());
        let (mut alone_values, mut shared_values) = (0, 0);
        let (mut all, mut kinds) = (Vec::new(), Vec::new());
        for window in windows {
            let values: Vec<(f64, Sharing)> = window.into_iter().collect();
            let of = |kind_of_use| {
                values.iter().filter(|(_, sharing)| *sharing == kind_of_use).map(|(value, _)| *value).collect()
            };
            let [alone_in_window, shared_in_window]: [Vec<f64>; 2] = [of(Sharing::Alone), of(Sharing::Shared)];
            alone.extend(median(&alone_in_window));
            shared.extend(median(&shared_in_window));
            alone_values += alone_in_window.len();
            shared_values += shared_in_window.len();
            for (values, kind) in [(alone_in_window, 0.0), (shared_in_window, 1.0)] {
                kinds.extend(values.iter().map(|_| kind));
                all.extend(values);
            }
        }
        let classified = alone_values + shared_values;
        Self {
            alone: estimate(&alone),
            shared: estimate(&shared),
            shared_share: (classified > 0).then(|| shared_values as f64 / classified as f64),
            correlation: rank_correlation(&all, &kinds),
        }
    }

    /// Separates values that took about the same time each, and do not depend on each other.
    pub fn of(values: impl IntoIterator<Item = (f64, Sharing)>) -> Self {
        Self::of_turns(values.into_iter().map(std::iter::once))
    }
}

fn estimate(values: &[f64]) -> Option<Estimate> {
    let enough = values.len() >= FEWEST;
    enough.then(|| Some(Estimate::new(median(values)?, sample_quantile_interval(values, 0.5, CONFIDENCE))))?
}
