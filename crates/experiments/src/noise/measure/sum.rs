//! The sums of a cell: of the pieces of a repetition, and of its repetitions, in constant memory: in a long run
//! adjacent repetitions are joined, all equally.

use crate::noise::record::Turn;
use instruments::clock::Clock;
use instruments::gaps::Watch;

/// The length above which a gap counts, as in 1999.
const LONG_NS: f64 = 256_000.0;

/// The sum of some pieces, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// The first reading.
    pub start: Option<u64>,
    /// The time from the first reading to the last, pauses between pieces included.
    pub reach: u64,
    pub span: u64,
    pub passes: u64,
    pub gaps: u64,
    pub over_256us: u64,
    pub longest: u64,
    /// The longest part of a gap that a competitor took, as far as the kernel trace names it.
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

    /// Adds a further repetition: the time between the two is in neither.
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

#[derive(Debug)]
pub struct TurnSums {
    sums: Vec<Sum>,
    /// The number of repetitions in each sum but the last.
    joined: u64,
    /// The number in the last one.
    in_last: u64,
    turns: u64,
}

/// The maximum number of sums: more than enough for an interval.
const MOST: usize = 128;

impl Default for TurnSums {
    fn default() -> Self {
        Self { sums: Vec::new(), joined: 1, in_last: 0, turns: 0 }
    }
}

impl TurnSums {
    pub fn push(&mut self, turn: Sum) {
        self.turns += 1;
        if let Some(last) = self.sums.last_mut().filter(|_| self.in_last < self.joined) {
            last.join(&turn);
            self.in_last += 1;
            return;
        }
        if self.sums.len() == MOST {
            let pairs = self.sums.chunks(2).map(|pair| {
                let mut first = pair[0];
                pair[1..].iter().for_each(|second| first.join(second));
                first
            });
            self.sums = pairs.collect();
            self.joined *= 2;
        }
        self.sums.push(turn);
        self.in_last = 1;
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Sum> {
        self.sums.iter()
    }

    /// Returns the number of repetitions.
    pub fn turns(&self) -> u64 {
        self.turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn night_of_repetitions_fits_and_loses_nothing() {
        let mut sums = TurnSums::default();
        for turn in 0..10_000 {
            sums.push(Sum { span: 100, reach: 110, passes: 1, gaps: 1, lost: 2, longest: turn, ..Sum::default() });
        }
        assert!(sums.iter().count() <= MOST && sums.turns() == 10_000);
        let all = sums.iter().fold(Sum::default(), |mut all, sum| {
            all.join(sum);
            all
        });
        assert_eq!(
            (all.span, all.reach, all.gaps, all.lost, all.longest),
            (1_000_000, 1_100_000, 10_000, 20_000, 9_999)
        );
        // All but the last have the same number of repetitions.
        let gaps: Vec<u64> = sums.iter().map(|sum| sum.gaps).collect();
        assert!(gaps[..gaps.len() - 1].iter().all(|&count| count == gaps[0]), "{gaps:?}");
    }
}
