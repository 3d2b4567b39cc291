//! Clusters: the clear maxima of the density, each with the tails that lean on it.
use super::axis::Bin;
use super::blocks::Block;

/// A valley parts two maxima when its density is below this part of the lower one. With millions of samples every
/// ripple is significant; only deep ones are of interest.
const VALLEY: f64 = 0.5;

/// Maxima nearer than this many steps of the clock are one: what falls between two steps shows up at both of them, and
/// some clocks prefer every other step.
const NEAREST_STEPS: f64 = 3.0;

/// A tail ends where its density falls below this part of its top: further out, one latency in a thousand would move
/// the mean of the spike.
const TAIL: f64 = 1e-3;

/// Below one latency per bin what leans on a top is scatter, unless the top is nearly as thin: this part of it.
const SCATTER: f64 = 0.1;

/// Latencies of one cluster, both ends seen and included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cluster {
    pub from: u64,
    pub to: u64,
}

/// A maximum of the density.
#[derive(Debug, Clone, Copy)]
struct Top {
    /// The block of the highest density.
    block: usize,
    /// The first and the last block of what the clock cannot tell apart from it: a few steps with empty ones between.
    first: usize,
    last: usize,
}

/// The clusters of `blocks`, in order. They do not overlap.
pub(super) fn clusters(bins: &[Bin], blocks: &[Block], step: f64) -> Vec<Cluster> {
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

/// The blocks that are maxima of their own: starting from all local maxima, the one with the shallowest valley beside
/// it is given up until every valley left is deep enough.
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
        // A ripple far out on the tail is given up, but does not draw the tail into the spike.
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

/// The distance, in the unit of the latencies, from the last bin of one top to the first bin of a later one.
fn distance(bins: &[Bin], blocks: &[Block], left: Top, right: Top) -> f64 {
    bins[blocks[right.first].first].start - bins[blocks[left.last].end - 1].start
}

/// The lowest density between two tops, and the bin in the middle of it.
fn valley(blocks: &[Block], left: Top, right: Top) -> (f64, usize) {
    let between = &blocks[left.last + 1..right.first];
    let lowest = between.iter().min_by(|a, b| a.density.total_cmp(&b.density));
    lowest.map_or((f64::INFINITY, blocks[right.first].first), |block| (block.density, block.first.midpoint(block.end)))
}

/// The bins from the first to one past the last that lean on a top without a break.
fn reach(blocks: &[Block], top: Top) -> (usize, usize) {
    let peak = blocks[top.block].density;
    let leans =
        |block: &&Block| block.density > TAIL * peak && (block.density >= 1.0 || block.density >= SCATTER * peak);
    let left = blocks[..top.first].iter().rev().take_while(leans).last().unwrap_or(&blocks[top.first]);
    let right = blocks[top.last + 1..].iter().take_while(leans).last().unwrap_or(&blocks[top.last]);
    (left.first, right.end)
}
