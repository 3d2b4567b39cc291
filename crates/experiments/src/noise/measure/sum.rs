//! What pieces of turns add up to.

use crate::noise::record::Turn;
use instruments::clock::Clock;
use instruments::gaps::Watch;

/// A gap that is longer than this counts, as in 1999.
const LONG_NS: f64 = 256_000.0;

/// What some pieces add up to, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// The first reading.
    pub start: Option<u64>,
    /// From the first reading to the last, pauses between pieces included.
    pub reach: u64,
    pub span: u64,
    pub passes: u64,
    pub gaps: u64,
    pub over_256us: u64,
    pub longest: u64,
    /// The longest part of a gap that a competitor took, as far as the kernel's trace names it.
    pub competitor_longest: u64,
    pub lost: u64,
}

impl Sum {
    pub fn add(&mut self, watch: &Watch, clock: Clock) {
        let start = *self.start.get_or_insert(watch.start);
        self.reach = watch.start + watch.span - start;
        let long = clock.to_ticks(LONG_NS);
        let lengths = watch.gaps.iter().map(|gap| gap.length);
        self.absorb(&Self {
            span: watch.watched(),
            passes: watch.passes,
            gaps: watch.gaps.len() as u64,
            over_256us: lengths.clone().filter(|&length| length > long).count() as u64,
            longest: lengths.clone().max().unwrap_or(0),
            lost: lengths.sum(),
            ..Self::default()
        });
    }

    /// A further turn: what lies between the two is in neither.
    pub fn join(&mut self, other: &Self) {
        self.reach += other.reach;
        self.absorb(other);
    }

    pub fn absorb(&mut self, other: &Self) {
        self.span += other.span;
        self.passes += other.passes;
        self.gaps += other.gaps;
        self.over_256us += other.over_256us;
        self.longest = self.longest.max(other.longest);
        self.competitor_longest = self.competitor_longest.max(other.competitor_longest);
        self.lost += other.lost;
    }

    pub fn figures(&self, clock: Clock) -> Turn {
        Turn {
            span_s: clock.to_ns(self.span) / 1e9,
            samples: self.passes,
            gaps: self.gaps,
            over_256us: self.over_256us,
            longest_us: clock.to_ns(self.longest) / 1e3,
            competitor_longest_us: Some(clock.to_ns(self.competitor_longest) / 1e3),
            lost_share: self.lost as f64 / self.span.max(1) as f64,
            unwatched_s: clock.to_ns(self.reach.saturating_sub(self.span)) / 1e9,
        }
    }
}
