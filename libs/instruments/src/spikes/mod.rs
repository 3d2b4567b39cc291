//! Finds the spikes in the latencies of one thread, and which of them echo another.
//!
//! The lock latency article of the Be Newsletter (1998) plotted every latency of a thread on log axes, gave each spike
//! a letter and explained it by hand: "B is A, delayed 5.0 µs by a scheduler interruption"; what was scattered between
//! the spikes was drawn as `#` and left alone. This module does the finding:
//!
//! 1. `axis` lays the latencies on a log axis whose bins are never narrower than the clock's step.
//! 2. `blocks` cuts the axis where the density changes by more than chance allows (Bayesian blocks), and nowhere else:
//!    thin noise over several octaves stays one block, and so does noise on top of a body of millions.
//! 3. `modes` takes each clear maximum of that density, with the tails that lean on it, as a cluster.
//! 4. `letters` keeps the clusters that matter and names them.
//! 5. `echo` marks those that are another one plus a constant delay.
mod axis;
mod blocks;
mod echo;
mod letters;
mod modes;
mod spike;

pub use spike::Spike;

use serde::{Deserialize, Serialize};

use crate::tally::Tally;

/// All spikes of a tally, largest share first, and what belongs to none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spikes {
    /// The spikes. Their ranges do not overlap.
    pub spikes: Vec<Spike>,
    /// The part of all latencies that is scattered between the spikes: at most 0.01.
    pub leftover_share: f64,
}

/// Finds the spikes in `tally`, whose clock moves in steps of `resolution` (in the tally's unit).
///
/// Clusters closer than three steps of the clock are one: a latency between two steps shows up at both. A `resolution`
/// below 1, or not a number, is taken as 1, since the tally holds whole numbers.
///
/// A cluster becomes a spike when a valley at least half as deep as its top parts it from its neighbours, when it holds
/// at least ten latencies, and when it matters: one in ten thousand of the latencies, or one in a thousand of the time
/// that all of them took together. The rest is left over, unless that would be more than a hundredth: then what lies
/// between two spikes is accepted as a spike too, largest first, until the spikes hold 99 %.
///
/// ```
/// use instruments::spikes::find;
/// use instruments::tally::Tally;
///
/// // 99.6 % at about 3.5 µs, the rest 5 µs later; in nanoseconds, from a clock with steps of 10 ns.
/// let spread = |middle: u64, count| (0..count).map(move |i| middle - 50 + 10 * (i * 7 % 11));
/// let tally: Tally = spread(3_500, 99_600).chain(spread(8_500, 400)).collect();
///
/// let found = find(&tally, 10.0);
/// assert_eq!(found.spikes.len(), 2);
/// assert_eq!(found.spikes[1].echo_of.as_deref(), Some("A"));
/// assert_eq!(found.spikes[1].delay, Some(5_000.0));
/// ```
pub fn find(tally: &Tally, resolution: f64) -> Spikes {
    let resolution = if resolution.is_finite() { resolution.max(1.0) } else { 1.0 };
    let Some(axis) = axis::Axis::of(tally, resolution) else { return Spikes::default() };
    let bins = axis.fill(tally);
    let blocks = blocks::split(&bins, tally.count());
    let clusters = modes::clusters(&bins, &blocks, resolution);
    let mut spikes = letters::spikes(tally, &clusters);
    echo::mark(&mut spikes, tally, resolution);
    let inside = spikes.iter().fold(0, |sum: u64, spike| sum.saturating_add(spike.count));
    let leftover_share = tally.count().saturating_sub(inside) as f64 / tally.count() as f64;
    Spikes { spikes, leftover_share }
}

impl Spikes {
    /// The label of the spike that `value`, in the unit of the spikes, belongs to.
    ///
    /// ```
    /// use instruments::tally::Tally;
    ///
    /// let tally = Tally::from_counts([(100, 1000), (900, 50)]);
    /// let found = instruments::spikes::find(&tally, 1.0);
    /// assert_eq!(found.label_of(900.0), Some("B"));
    /// assert_eq!(found.label_of(500.0), None);
    /// ```
    pub fn label_of(&self, value: f64) -> Option<&str> {
        self.spikes.iter().find(|spike| spike.from <= value && value <= spike.to).map(|spike| spike.label.as_str())
    }

    /// The same spikes in another unit: every quantity multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Self {
        let spikes = self.spikes.iter().map(|spike| spike.scaled(factor)).collect();
        Self { spikes, leftover_share: self.leftover_share }
    }
}
