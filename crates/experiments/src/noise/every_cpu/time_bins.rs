//! How much of each piece of the run a CPU lost: constant memory, however long the run.

use instruments::clock::Clock;
use instruments::gaps::Watch;
use std::time::Duration;

/// As many as a terminal has columns for.
const BINS: usize = 60;

/// Ticks lost and ticks watched, piece by piece.
pub struct TimeBins {
    origin: u64,
    /// Of one bin, in ticks.
    length: u64,
    /// When the last watch ended, in ticks since the origin.
    end: u64,
    lost: Vec<u64>,
}

impl TimeBins {
    pub fn over(origin: u64, ticks: u64) -> Self {
        Self { origin, length: (ticks / BINS as u64).max(1), end: 0, lost: vec![0; BINS] }
    }

    /// A gap counts in each bin that it lies in; what comes a little after the planned end counts in the last. A run
    /// that goes on makes the bins twice as long.
    pub fn add(&mut self, watch: &Watch) {
        let last = BINS as u64 - 1;
        let end = watch.start.saturating_sub(self.origin) + watch.span;
        self.end = self.end.max(end);
        while end > (self.length * BINS as u64).saturating_mul(11) / 10 {
            self.double();
        }
        for gap in &watch.gaps {
            let (mut from, end) = (gap.start.saturating_sub(self.origin), gap.end().saturating_sub(self.origin));
            while from < end {
                let bin = (from / self.length).min(last);
                let until = if bin == last { end } else { end.min((bin + 1) * self.length) };
                self.lost[bin as usize] += until - from;
                from = until;
            }
        }
    }

    fn double(&mut self) {
        for bin in 0..BINS / 2 {
            self.lost[bin] = self.lost[2 * bin] + self.lost[2 * bin + 1];
        }
        self.lost[BINS / 2..].fill(0);
        self.length *= 2;
    }

    /// Shares of each bin's time, as far as the run came.
    pub fn shares(&self, clock: Clock, elapsed: Duration) -> Vec<f64> {
        let bins = (clock.ticks_in(elapsed) / self.length + 1).min(BINS as u64) as usize;
        let shares = self.lost[..bins].iter().enumerate().map(|(bin, &lost)| {
            // The last one has what came after it, and may not be full.
            let covered = if bin + 1 == bins { self.end.saturating_sub(bin as u64 * self.length) } else { self.length };
            lost as f64 / covered.max(lost).max(1) as f64
        });
        shares.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::gaps::Gap;

    #[test]
    fn a_gap_is_divided_between_the_pieces_that_it_lies_in() {
        let mut bins = TimeBins::over(1_000, 60 * 100);
        let gap = |start, length| Gap { start, length };
        let gaps = vec![gap(1_050, 200), gap(1_000 + 5_950, 500)];
        bins.add(&Watch { gaps, span: 6_500, start: 1_000, passes: 1, threshold: 1, full: false, looks: Vec::new() });
        assert_eq!(bins.lost[..4], [50, 100, 50, 0]);
        assert_eq!((bins.lost[59], bins.lost.iter().sum::<u64>()), (500, 700));
        // The last piece goes on until the end.
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let shares = bins.shares(clock, Duration::from_secs(1));
        assert_eq!((shares[1], shares[59]), (1.0, 500.0 / 600.0));
    }

    #[test]
    fn a_run_without_an_end_makes_the_pieces_longer() {
        let mut bins = TimeBins::over(0, 60);
        for second in 0..28_800 {
            let gaps = vec![Gap { start: second * 1_000, length: 10 }];
            bins.add(&Watch {
                gaps,
                span: 1_000,
                start: second * 1_000,
                passes: 1,
                threshold: 1,
                full: false,
                looks: Vec::new(),
            });
        }
        assert_eq!((bins.lost.len(), bins.lost.iter().sum::<u64>()), (BINS, 288_000));
        assert!(bins.length * BINS as u64 >= 28_800_000 * 10 / 11);
        let used = bins.lost.iter().filter(|&&lost| lost > 0).count();
        assert!(used > BINS / 2 - 2, "{used}");
    }
}
