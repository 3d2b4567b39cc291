//! A period that is known, without a search: what a search finds can be held against it.

use super::Gap;
use crate::statistics::order::median;

/// Gaps that begin at the same place of a period, to so many nanoseconds.
const BIN_NS: f64 = 10_000.0;
/// The kernel has no visit that is shorter.
const SHORTEST_NS: f64 = 1_000.0;

/// The gaps of the place where most begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Folded {
    /// How many.
    pub gaps: usize,
    /// Their median duration.
    pub median_gap_ns: f64,
}

/// Lays all periods over each other: of their places of 10 µs that in which most gaps of 1 µs and more begin. A gap
/// that is longer than the period is no beat of it, but what one has brought. `None` without any gap.
///
/// ```
/// use instruments::period::{Gap, fold};
///
/// let gap = |start_ns, duration_ns| Gap { start_ns, duration_ns };
/// let beats = (0..100).map(|beat| gap(1e6 + 4e6 * f64::from(beat), 40_000.0));
/// let others = (0..100).map(|other| gap(50_000.0 + 2.7e6 * f64::from(other), 3_000.0));
/// let folded = fold(&beats.chain(others).collect::<Vec<_>>(), 4e6).unwrap();
/// assert_eq!((folded.gaps, folded.median_gap_ns), (100, 40_000.0));
/// ```
pub fn fold(gaps: &[Gap], period_ns: f64) -> Option<Folded> {
    let mut places = vec![Vec::new(); (period_ns / BIN_NS) as usize + 1];
    for gap in gaps.iter().filter(|gap| (SHORTEST_NS..period_ns).contains(&gap.duration_ns)) {
        places[(gap.start_ns.rem_euclid(period_ns) / BIN_NS) as usize].push(gap.duration_ns);
    }
    let fullest = places.into_iter().max_by_key(Vec::len)?;
    Some(Folded { gaps: fullest.len(), median_gap_ns: median(&fullest)? })
}
