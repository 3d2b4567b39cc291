//! One spike.

use serde::{Deserialize, Serialize};

use crate::statistics::Interval;

/// A cluster of latencies. Every quantity is in the unit of the tally it was found in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spike {
    /// `A` for the largest share, then `B` and so on; `AA` follows `Z`.
    pub label: String,
    /// Its part of all latencies, 0 to 1.
    pub share: f64,
    /// How many latencies.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub median: f64,
    /// The 95 % interval of the median, as if the latencies were independent; `None` below six. Neighbours in time are
    /// not: of what came in slices, [`Slices::interval_within`](crate::statistics::slices::Slices::interval_within)
    /// gives one that is as wide as it should be.
    pub median_ci: Option<Interval>,
    /// The smallest.
    pub from: f64,
    /// The largest.
    pub to: f64,
    /// The label of the spike that this one repeats after a constant delay.
    ///
    /// An echo is arithmetic, not proof of a cause: it says that this spike has the shape that the other would have if
    /// something always delayed it by `delay`. What that something is takes evidence from elsewhere.
    pub echo_of: Option<String>,
    /// The delay of the echo: the difference of the two medians.
    pub delay: Option<f64>,
}

impl Spike {
    /// The same spike in another unit: every quantity multiplied by `factor`.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        Self {
            mean: self.mean * factor,
            median: self.median * factor,
            median_ci: self.median_ci.map(|interval| interval.scaled(factor)),
            from: self.from * factor,
            to: self.to * factor,
            delay: self.delay.map(|delay| delay * factor),
            ..self.clone()
        }
    }
}
