//! A figure for the time alone on the core, and one for the time in which it was shared.

use super::probe::Sharing;
use crate::statistics::comparison::Estimate;
use crate::statistics::order::{median, sample_quantile_interval};
use crate::statistics::ranks::rank_correlation;
use crate::statistics::summary::CONFIDENCE;

/// The medians of values, separated by the use of the core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// With the core exclusive; `None` where there are too few.
    pub alone: Option<Estimate>,
    /// With the core shared; `None` where there are too few.
    pub shared: Option<Estimate>,
    /// The share of values with the core shared, among those that are known to be one or the other; `None` without any.
    pub shared_share: Option<f64>,
    /// How far a value tells by itself who was there: the rank correlation (Spearman's) of the values with being
    /// shared, from -1 to 1; `None` where all were of one kind.
    pub correlation: Option<f64>,
}

/// Fewer have no interval at 95 %.
const FEWEST: usize = 6;

impl Split {
    /// Of turns, each with values that depend on each other: a turn counts once on each side, with its median.
    pub fn of_turns<V: IntoIterator<Item = (f64, Sharing)>>(turns: impl IntoIterator<Item = V>) -> Self {
        let (mut alone, mut shared) = (Vec::new(), Vec::new());
        let (mut alone_values, mut shared_values) = (0, 0);
        let (mut all, mut kinds) = (Vec::new(), Vec::new());
        for turn in turns {
            let values: Vec<(f64, Sharing)> = turn.into_iter().collect();
            let of =
                |wanted| values.iter().filter(|(_, sharing)| *sharing == wanted).map(|(value, _)| *value).collect();
            let [of_alone, of_shared]: [Vec<f64>; 2] = [of(Sharing::Alone), of(Sharing::Shared)];
            alone.extend(median(&of_alone));
            shared.extend(median(&of_shared));
            alone_values += of_alone.len();
            shared_values += of_shared.len();
            for (values, kind) in [(of_alone, 0.0), (of_shared, 1.0)] {
                kinds.extend(values.iter().map(|_| kind));
                all.extend(values);
            }
        }
        let told_apart = alone_values + shared_values;
        Self {
            alone: estimate(&alone),
            shared: estimate(&shared),
            shared_share: (told_apart > 0).then(|| shared_values as f64 / told_apart as f64),
            correlation: rank_correlation(&all, &kinds),
        }
    }

    /// Of values that took about as long each, and do not depend on each other.
    pub fn of(values: impl IntoIterator<Item = (f64, Sharing)>) -> Self {
        Self::of_turns(values.into_iter().map(std::iter::once))
    }
}

fn estimate(values: &[f64]) -> Option<Estimate> {
    let enough = values.len() >= FEWEST;
    enough.then(|| Some(Estimate::new(median(values)?, sample_quantile_interval(values, 0.5, CONFIDENCE))))?
}
