//! Cuts the axis where the density changes by more than chance allows.
//!
//! Bayesian blocks (Scargle, Norris, Jackson and Chiang, "Studies in Astronomical Time Series Analysis VI", 2013): of
//! all ways to cut the axis into blocks of constant density, the one of highest likelihood, less a price per block that
//! keeps the chance of a cut in pure noise small. Dense regions get fine blocks, sparse ones wide blocks, with no width
//! to choose.
use super::axis::Bin;

/// The chance, per search, of a cut where there is only noise.
const FALSE_CUTS: f64 = 0.001;

/// Neighbouring bins of one density.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// The first bin.
    pub first: usize,
    /// One past the last bin.
    pub end: usize,
    /// Latencies per bin of nominal width.
    pub density: f64,
}

/// The blocks of `bins`, which hold `total` latencies, in order.
pub(super) fn split(bins: &[Bin], total: u64) -> Vec<Block> {
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

/// Equation 21 of the paper, found there by simulation of pure noise.
fn price_of_a_block(total: u64) -> f64 {
    4.0 - (73.53 * FALSE_CUTS * (total as f64).powf(-0.478)).ln()
}

/// Counts and exposures of all bins before each bin, so that those of any block are a difference.
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
