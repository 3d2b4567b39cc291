//! Detection of the spikes (clusters) in the latencies of one thread, and of those that echo another one.
//!
//! The lock latency article of the Be Newsletter (1998) plotted every latency of a thread on log axes, labelled each
//! spike with a letter and explained it by hand: "B is A, delayed 5.0 µs by a scheduler interruption". The latencies
//! scattered between the spikes were drawn as `#` and not explained. This module automates that analysis:
//!
//! 1. `axis` assigns the latencies to a log axis whose bins are never narrower than the clock's step.
//! 2. `blocks` cuts the axis only where the density changes by more than chance permits (Bayesian blocks). Sparse
//!    noise over several octaves remains one block, and so does noise on top of a cluster of millions.
//! 3. `modes` takes each clear maximum of that density, with its adjacent tails, as a cluster.
//! 4. `letters` selects the clusters that matter and labels them.
//! 5. `echo` marks those that are another one plus a constant delay.

use crate::statistics::Interval;
use crate::statistics::order::quantile_interval;
use crate::statistics::summary::CONFIDENCE;
use crate::tally::Tally;
use serde::{Deserialize, Serialize};

/// All spikes of a tally, largest share first, and the share of the remaining latencies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spikes {
    /// Spikes, whose ranges do not overlap.
    pub spikes: Vec<Spike>,
    /// Share of the latencies scattered between the spikes: at most 0.01.
    pub leftover_share: f64,
}

/// Finds the spikes in `tally`, whose clock has steps of `resolution` (in the tally's unit).
///
/// Clusters closer than three steps of the clock are one, because a latency between two steps appears at both. A
/// `resolution` below 1, or not a number, is treated as 1, since the tally contains integers.
///
/// A cluster becomes a spike if three conditions hold. A valley at least half as deep as its top separates it from
/// the adjacent clusters. It contains at least ten latencies. It has a share of at least one in ten thousand of the
/// latencies, or one in a thousand of their total time. The other latencies belong to no spike, unless they are more
/// than a hundredth. In that case the latencies between two spikes also become a spike, largest first, until the
/// spikes contain 99 %.
///
/// # Examples
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
    let Some(axis) = Axis::of(tally, resolution) else { return Spikes::default() };
    let bins = axis.fill(tally);
    let blocks = cut_into_blocks(&bins, tally.count());
    let clusters = clusters(&bins, &blocks, resolution);
    let mut spikes = lettered(tally, &clusters);
    mark_echoes(&mut spikes, tally, resolution);
    let inside = spikes.iter().fold(0, |sum: u64, spike| sum.saturating_add(spike.count));
    let leftover_share = tally.count().saturating_sub(inside) as f64 / tally.count() as f64;
    Spikes { spikes, leftover_share }
}

impl Spikes {
    /// Returns the label of the spike that contains `value`, in the unit of the spikes.
    ///
    /// # Examples
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

    /// Returns the same spikes in another unit: every quantity multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Self {
        let spikes = self.spikes.iter().map(|spike| spike.scaled(factor)).collect();
        Self { spikes, leftover_share: self.leftover_share }
    }
}

/// A cluster of latencies. Every quantity is in the unit of the tally in which it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spike {
    /// Label: `A` for the largest share, then `B` and so on; `AA` follows `Z`.
    pub label: String,
    /// Share of all latencies, 0 to 1.
    pub share: f64,
    /// Number of latencies.
    pub count: u64,
    /// Mean latency.
    pub mean: f64,
    /// Median latency.
    pub median: f64,
    /// 95 % confidence interval of the median for independent latencies; `None` for fewer than six.
    ///
    /// Latencies adjacent in time are not independent:
    /// [`Slices::interval_within`](crate::statistics::slices::Slices::interval_within) returns an interval of the
    /// correct width for latencies recorded in windows.
    pub median_ci: Option<Interval>,
    /// Smallest latency.
    pub from: f64,
    /// Largest latency.
    pub to: f64,
    /// Label of the spike that this one repeats after a constant delay.
    ///
    /// An echo is arithmetic, not proof of a cause: this spike has the shape that the other would have if an event
    /// always delayed it by `delay`. Other evidence must identify that event.
    pub echo_of: Option<String>,
    /// Delay of the echo: the difference of the two medians.
    pub delay: Option<f64>,
}

impl Spike {
    /// Returns the same spike in another unit: every quantity multiplied by `factor`.
    fn scaled(&self, factor: f64) -> Self {
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

// The axis of the latencies: linear near zero, logarithmic above.

/// Resolution of the logarithmic part: a bin is 2.2 % wide.
const BINS_PER_OCTAVE: f64 = 32.0;

/// The edges of the bins.
///
/// No bin is narrower than the clock's step, because empty bins between two adjacent steps would look like valleys.
/// Every bin contains a whole number of steps, because bins with two steps would otherwise alternate with bins with
/// one.
struct Axis {
    /// Bin `i` extends from `edges[i]` to below `edges[i + 1]`.
    edges: Vec<f64>,
    /// Ratio of each bin's width to its width on the axis without rounding to whole steps.
    exposures: Vec<f64>,
}

/// A bin with its latencies.
#[derive(Debug, Clone, Copy)]
struct Bin {
    /// Number of latencies.
    pub count: u64,
    /// Width of the bin on the axis: 1, except for rounding to whole steps.
    pub exposure: f64,
    /// Lower edge, in the unit of the latencies.
    pub start: f64,
    /// Smallest latency in the bin; 0 if it is empty.
    pub from: u64,
    /// Largest latency in the bin; 0 if it is empty.
    pub to: u64,
}

impl Axis {
    /// Returns the axis for all values of `tally`; `None` if it is empty.
    pub fn of(tally: &Tally, step: f64) -> Option<Self> {
        let (min, max) = (tally.min()? as f64, tally.max()? as f64);
        // The steps are counted from the most frequent value, in the middle of its step: the values of a clock that
        // is rounded to whole ticks may deviate a little to either side.
        let (anchor, _) = tally.iter().max_by_key(|&(_, count)| count)?;
        let origin = anchor as f64 - step / 2.0;
        let growth = (1.0 / BINS_PER_OCTAVE).exp2() - 1.0;
        let mut edge = origin + ((min - origin) / step).floor() * step;
        let mut axis = Self { edges: vec![edge], exposures: Vec::new() };
        while edge <= max {
            let ideal = step.max(edge * growth);
            let width = (ideal / step).round() * step;
            // If the numbers are so large that a step vanishes in rounding, one bin takes the rest.
            let next = if edge + width > edge { edge + width } else { f64::INFINITY };
            axis.exposures.push(width / ideal);
            axis.edges.push(next);
            edge = next;
        }
        Some(axis)
    }

    /// Counts the latencies into the bins.
    pub fn fill(&self, tally: &Tally) -> Vec<Bin> {
        let empty = |(&start, &exposure)| Bin { count: 0, exposure, start, from: 0, to: 0 };
        let mut bins: Vec<Bin> = self.edges.iter().zip(&self.exposures).map(empty).collect();
        let mut index = 0;
        for (value, count) in tally.iter() {
            while index + 1 < bins.len() && value as f64 >= self.edges[index + 1] {
                index += 1;
            }
            let bin = &mut bins[index];
            if bin.count == 0 {
                bin.from = value;
            }
            bin.to = value;
            bin.count = bin.count.saturating_add(count);
        }
        bins
    }
}

// Cuts of the axis where the density changes by more than chance permits.
//
// Bayesian blocks (Scargle, Norris, Jackson and Chiang, "Studies in Astronomical Time Series Analysis VI", 2013):
// among all ways to cut the axis into blocks of constant density, the one of highest likelihood. A price per block
// keeps the probability of a cut in pure noise small. Dense regions get fine blocks, sparse ones wide blocks, and no
// width has to be chosen.

/// Probability per search of a cut where there is only noise.
const FALSE_CUTS: f64 = 0.001;

/// Adjacent bins of one density.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// First bin.
    pub first: usize,
    /// One past the last bin.
    pub end: usize,
    /// Latencies per bin of nominal width.
    pub density: f64,
}

/// Returns the blocks of `bins`, which contain `total` latencies, in order.
fn cut_into_blocks(bins: &[Bin], total: u64) -> Vec<Block> {
    let price = price_of_a_block(total);
    let (counts, exposures) = sums(bins);
    // best[end] is the highest score of the bins before `end`, whose last block begins at start_of_last[end].
    let mut best = vec![0.0];
    let mut start_of_last = vec![0];
    for end in 1..=bins.len() {
        let score = |start: usize| {
            let count = counts[end] - counts[start];
            let likelihood = if count > 0.0 { count * (count / (exposures[end] - exposures[start])).ln() } else { 0.0 };
            best[start] + likelihood - price
        };
        let start = (0..end).map(|start| (start, score(start))).max_by(|a, b| a.1.total_cmp(&b.1));
        let (start, score) = start.unwrap_or_default();
        best.push(score);
        start_of_last.push(start);
    }
    let mut blocks = Vec::new();
    let mut end = bins.len();
    while end > 0 {
        let first = start_of_last[end];
        let density = (counts[end] - counts[first]) / (exposures[end] - exposures[first]);
        blocks.push(Block { first, end, density });
        end = first;
    }
    blocks.reverse();
    blocks
}

/// Returns the price of a block by equation 21 of the paper, which was fitted there to simulations of pure noise.
fn price_of_a_block(total: u64) -> f64 {
    4.0 - (73.53 * FALSE_CUTS * (total as f64).powf(-0.478)).ln()
}

/// Returns the counts and exposures of all bins before each bin, so that those of any block are a difference.
fn sums(bins: &[Bin]) -> (Vec<f64>, Vec<f64>) {
    let mut counts = vec![0.0];
    let mut exposures = vec![0.0];
    let (mut count, mut exposure) = (0.0, 0.0);
    for bin in bins {
        count += bin.count as f64;
        exposure += bin.exposure;
        counts.push(count);
        exposures.push(exposure);
    }
    (counts, exposures)
}

// Clusters: the clear maxima of the density, each with its adjacent tails.

/// Density of a valley relative to the lower of two maxima below which it separates them. With millions of samples
/// every ripple is significant; only deep ones are of interest.
const VALLEY: f64 = 0.5;

/// Distance in steps of the clock below which maxima are one: a latency between two steps appears at both of them,
/// and some clocks prefer every other step.
const NEAREST_STEPS: f64 = 3.0;

/// Density relative to the top below which a tail ends: further out, one latency in a thousand would move the mean of
/// the spike.
const TAIL: f64 = 1e-3;

/// Below one latency per bin, the bins adjacent to a top are scatter, unless their density is at least this part of
/// that of the top.
const SCATTER: f64 = 0.1;

/// Latencies of one cluster, from the smallest to the largest one, inclusive.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cluster {
    pub from: u64,
    pub to: u64,
}

/// A maximum of the density.
#[derive(Debug, Clone, Copy)]
struct Top {
    /// The block of the highest density.
    block: usize,
    /// The first and the last block that the clock cannot distinguish from it: a few steps with empty ones in
    /// between.
    first: usize,
    last: usize,
}

/// Returns the clusters of `blocks`, in order. They do not overlap.
fn clusters(bins: &[Bin], blocks: &[Block], step: f64) -> Vec<Cluster> {
    let tops = tops(bins, blocks, step);
    let mut clusters = Vec::new();
    for (index, &top) in tops.iter().enumerate() {
        let left = index.checked_sub(1).map_or(0, |before| valley(blocks, tops[before], top).1);
        let right = tops.get(index + 1).map_or(bins.len(), |&after| valley(blocks, top, after).1);
        let (first, end) = reach(blocks, top);
        // A cluster ends in the middle of the valley at the latest.
        let mut seen = bins[first.max(left)..end.min(right)].iter().filter(|bin| bin.count > 0);
        if let Some(lowest) = seen.next() {
            let highest = seen.next_back().unwrap_or(lowest);
            clusters.push(Cluster { from: lowest.from, to: highest.to });
        }
    }
    clusters
}

/// Returns the blocks that are separate maxima. It starts with all local maxima, and removes the one with the
/// shallowest adjacent valley until every valley is deep enough.
fn tops(bins: &[Bin], blocks: &[Block], step: f64) -> Vec<Top> {
    let maxima = (0..blocks.len()).filter(|&index| is_local_maximum(blocks, index));
    let mut tops: Vec<Top> = maxima.map(|block| Top { block, first: block, last: block }).collect();
    let is_near = |left: Top, right: Top| distance(bins, blocks, left, right) < (NEAREST_STEPS - 0.5) * step;
    let filled = |left: Top, right: Top| {
        let lower = blocks[left.block].density.min(blocks[right.block].density);
        if is_near(left, right) { f64::INFINITY } else { valley(blocks, left, right).0 / lower }
    };
    loop {
        let shallowest = (1..tops.len())
            .map(|right| (right, filled(tops[right - 1], tops[right])))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|&(_, filled)| filled > VALLEY);
        let Some((index, _)) = shallowest else { return tops };
        let (left, right) = (tops[index - 1], tops[index]);
        let (lower, higher) =
            if blocks[left.block].density < blocks[right.block].density { (left, right) } else { (right, left) };
        let mut kept = higher;
        // A ripple far out on the tail is removed, but does not extend the spike by the tail.
        if is_near(left, right) && blocks[lower.block].density > TAIL * blocks[higher.block].density {
            kept.first = left.first;
            kept.last = right.last;
        }
        tops.splice(index - 1..=index, [kept]);
    }
}

fn is_local_maximum(blocks: &[Block], index: usize) -> bool {
    let above = |other: Option<&Block>| other.is_none_or(|other| blocks[index].density > other.density);
    above(blocks.get(index + 1)) && above(index.checked_sub(1).map(|before| &blocks[before]))
}

/// Returns the distance, in the unit of the latencies, from the last bin of one top to the first bin of a later one.
fn distance(bins: &[Bin], blocks: &[Block], left: Top, right: Top) -> f64 {
    bins[blocks[right.first].first].start - bins[blocks[left.last].end - 1].start
}

/// Returns the lowest density between two tops, and the bin in the middle of it.
fn valley(blocks: &[Block], left: Top, right: Top) -> (f64, usize) {
    let between = &blocks[left.last + 1..right.first];
    let lowest = between.iter().min_by(|a, b| a.density.total_cmp(&b.density));
    lowest.map_or((f64::INFINITY, blocks[right.first].first), |block| (block.density, block.first.midpoint(block.end)))
}

/// Returns the contiguous bins adjacent to a top, from the first to one past the last.
fn reach(blocks: &[Block], top: Top) -> (usize, usize) {
    let peak = blocks[top.block].density;
    let leans =
        |block: &&Block| block.density > TAIL * peak && (block.density >= 1.0 || block.density >= SCATTER * peak);
    let left = blocks[..top.first].iter().rev().take_while(leans).last().unwrap_or(&blocks[top.first]);
    let right = blocks[top.last + 1..].iter().take_while(leans).last().unwrap_or(&blocks[top.last]);
    (left.first, right.end)
}

// The clusters that are spikes, and their labels.

/// Least number of latencies of a spike: fewer are scatter, however close they are.
const FEWEST: u64 = 10;

/// Least share of a spike in the latencies.
const LEAST_SHARE: f64 = 1e-4;

/// Least share of a spike in the total time, which suffices as well: preemptions are rare and long.
const LEAST_TIME_SHARE: f64 = 1e-3;

/// Least share of all spikes in the latencies.
const COVERED: f64 = 0.99;

/// Returns the labelled spikes of `tally`, largest first, without echoes.
fn lettered(tally: &Tally, clusters: &[Cluster]) -> Vec<Spike> {
    let mut chosen: Vec<(Cluster, Tally)> = clusters
        .iter()
        .map(|&cluster| (cluster, tally.between(cluster.from..=cluster.to)))
        .filter(|(_, inside)| matters(inside, tally))
        .collect();
    cover(&mut chosen, tally);
    chosen.sort_by_key(|(cluster, inside)| (std::cmp::Reverse(inside.count()), cluster.from));
    let total = tally.count() as f64;
    chosen.iter().enumerate().filter_map(|(index, (cluster, inside))| spike(index, *cluster, inside, total)).collect()
}

fn matters(inside: &Tally, tally: &Tally) -> bool {
    let time = |tally: &Tally| tally.mean().unwrap_or(0.0) * tally.count() as f64;
    let share = inside.count() as f64 / tally.count() as f64;
    inside.count() >= FEWEST && (share >= LEAST_SHARE || time(inside) >= LEAST_TIME_SHARE * time(tally))
}

/// Adds the values between two spikes as a further one, largest first, until the spikes cover enough.
fn cover(chosen: &mut Vec<(Cluster, Tally)>, tally: &Tally) {
    let mut covered = chosen.iter().fold(0, |sum: u64, (_, inside)| sum.saturating_add(inside.count()));
    if is_enough(covered, tally) {
        return;
    }
    let mut between = gaps(chosen, tally);
    between.sort_by_key(|(cluster, inside)| (std::cmp::Reverse(inside.count()), cluster.from));
    for (cluster, inside) in between {
        if is_enough(covered, tally) {
            break;
        }
        covered = covered.saturating_add(inside.count());
        chosen.push((cluster, inside));
    }
}

fn is_enough(covered: u64, tally: &Tally) -> bool {
    covered as f64 >= COVERED * tally.count() as f64
}

/// Returns the counts before, between and after the selected clusters, which are in order.
fn gaps(chosen: &[(Cluster, Tally)], tally: &Tally) -> Vec<(Cluster, Tally)> {
    let starts = std::iter::once(Some(0)).chain(chosen.iter().map(|(cluster, _)| cluster.to.checked_add(1)));
    let ends = chosen.iter().map(|(cluster, _)| cluster.from.checked_sub(1)).chain([Some(u64::MAX)]);
    let ranges = starts.zip(ends).filter_map(|(start, end)| Some(start?..=end?));
    ranges
        .filter_map(|range| {
            let inside = tally.between(range);
            Some((Cluster { from: inside.min()?, to: inside.max()? }, inside))
        })
        .collect()
}

fn spike(index: usize, cluster: Cluster, inside: &Tally, total: f64) -> Option<Spike> {
    Some(Spike {
        label: label(index),
        share: inside.count() as f64 / total,
        count: inside.count(),
        mean: inside.mean()?,
        median: inside.quantile(0.5)? as f64,
        median_ci: quantile_interval(inside, 0.5, CONFIDENCE),
        from: cluster.from as f64,
        to: cluster.to as f64,
        echo_of: None,
        delay: None,
    })
}

/// Returns the label: A to Z, then AA, AB and so on.
fn label(index: usize) -> String {
    let mut letters = Vec::new();
    let mut left = index + 1;
    while left > 0 {
        left -= 1;
        letters.push(char::from(b'A' + (left % 26) as u8));
        left /= 26;
    }
    letters.iter().rev().collect()
}

// Echoes: spikes that are another one plus a constant delay.
//
// An interruption that hits a few of the operations in one spike delays these by its own length. They form a later
// and smaller spike of the same shape, slightly blurred by the jitter of the interruption.

/// Largest share of an echo in its parent: in 1998 interruptions hit 0.3 to 3 % of the operations. A more frequent
/// event is a separate path.
const LARGEST: f64 = 0.1;

/// Largest excess of the width of an echo over that of its parent, as a part of the delay: the jitter of its cause.
const JITTER: f64 = 0.25;

/// Least width of an echo relative to its parent: a narrower one cannot be a random part of it; the slack is for few
/// samples.
const NARROWEST: f64 = 0.5;

/// Relative difference below which two delays are the same.
const SAME_DELAY: f64 = 0.08;

/// A spike that may be the echo of another.
struct Pair {
    echo: usize,
    parent: usize,
    delay: f64,
}

/// Marks the echoes among `spikes`, largest first.
///
/// A parent is never itself an echo, so the echo of an echo is assigned to the root. If several parents fit, a delay
/// that other spikes show as well takes precedence, then the larger share.
fn mark_echoes(spikes: &mut [Spike], tally: &Tally, resolution: f64) {
    let spreads: Vec<f64> = spikes.iter().map(|spike| spread(spike, tally)).collect();
    let fits = |parent: usize, echo: usize| {
        let delay = spikes[echo].median - spikes[parent].median;
        let slack = 2.0 * resolution;
        let small = spikes[echo].share <= LARGEST * spikes[parent].share;
        let narrow = spreads[echo] <= spreads[parent] + (JITTER * delay).max(slack);
        let wide = spreads[echo] + slack >= NARROWEST * spreads[parent];
        (delay > 0.0 && small && narrow && wide).then_some(Pair { echo, parent, delay })
    };
    let pairs: Vec<Pair> = (0..spikes.len())
        .flat_map(|echo| (0..echo).map(move |parent| (parent, echo)))
        .filter_map(|(parent, echo)| fits(parent, echo))
        .collect();
    for echo in 0..spikes.len() {
        let root_pairs = pairs.iter().filter(|pair| pair.echo == echo && spikes[pair.parent].echo_of.is_none());
        // The parents come in order of share, and only a strictly better one replaces an earlier one.
        let best = root_pairs.rev().max_by_key(|pair| is_shared(pair, &pairs, resolution));
        if let Some(pair) = best {
            spikes[echo].echo_of = Some(spikes[pair.parent].label.clone());
            spikes[echo].delay = Some(pair.delay);
        }
    }
}

/// Returns the distance from the 10th to the 90th percentile.
fn spread(spike: &Spike, tally: &Tally) -> f64 {
    // The ends come from integers. If they are too large for exact conversion, the spread need not be exact.
    let inside = tally.between(spike.from as u64..=spike.to as u64);
    let at = |q| inside.quantile(q).unwrap_or(0) as f64;
    at(0.9) - at(0.1)
}

/// Returns whether another spike follows another parent after the same delay.
fn is_shared(pair: &Pair, pairs: &[Pair], resolution: f64) -> bool {
    let tolerance = SAME_DELAY * pair.delay + resolution;
    let other = |other: &&Pair| other.echo != pair.echo && other.parent != pair.parent;
    pairs.iter().filter(other).any(|other| (other.delay - pair.delay).abs() <= tolerance)
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn labels_go_on_after_z() {
        assert_eq!([0, 25, 26, 27, 701, 702].map(label), ["A", "Z", "AA", "AB", "ZZ", "AAA"]);
    }
}
