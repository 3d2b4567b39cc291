//! The longest gaps of a cell, each with what took most of it: what a timeline shows of millions.

use crate::noise::record::LongGap;
use instruments::clock::Clock;
use instruments::evidence::{Attribution, Cause, Kind};
use instruments::gaps::Watch;

/// A record keeps no more of each cell: enough for a picture, and at most some 12 KB.
const MOST: usize = 100;

/// The longest gaps so far, the longest first.
#[derive(Debug)]
pub struct Longest {
    /// When the run began, in ticks.
    origin: u64,
    gaps: Vec<Found>,
}

#[derive(Debug)]
struct Found {
    start: u64,
    length: u64,
    /// What took most of it, …
    cause: Cause,
    /// … and how much.
    ticks: u64,
}

impl Longest {
    pub fn since(origin: u64) -> Self {
        Self { origin, gaps: Vec::new() }
    }

    /// Adds the gaps of a watch, whose causes are known as far as there is evidence.
    pub fn add(&mut self, watch: &Watch, attribution: Option<&Attribution>) {
        let least = self.gaps.get(MOST - 1).map_or(0, |gap| gap.length);
        let mut longer: Vec<usize> =
            (0..watch.gaps.len()).filter(|&number| watch.gaps[number].length > least).collect();
        longer.sort_by_key(|&number| std::cmp::Reverse(watch.gaps[number].length));
        self.gaps.extend(longer.into_iter().take(MOST).map(|number| {
            let gap = watch.gaps[number];
            let most = attribution.and_then(|found| found.of_gap(number).first().map(|&(cause, t)| (cause.clone(), t)));
            let (cause, ticks) = most.unwrap_or((Cause::unnamed(Kind::Unexplained), gap.length));
            Found { start: gap.start, length: gap.length, cause, ticks }
        }));
        self.gaps.sort_by_key(|gap| std::cmp::Reverse(gap.length));
        self.gaps.truncate(MOST);
    }

    pub fn rows(&self, clock: Clock) -> Vec<LongGap> {
        let row = |gap: &Found| LongGap {
            start_s: clock.to_ns(gap.start.saturating_sub(self.origin)) / 1e9,
            length_us: clock.to_ns(gap.length) / 1e3,
            cause: gap.cause.clone(),
            cause_us: clock.to_ns(gap.ticks) / 1e3,
        };
        self.gaps.iter().map(row).collect()
    }
}
