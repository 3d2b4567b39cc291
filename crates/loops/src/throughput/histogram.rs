//! A histogram of fixed size.

use instruments::log_buckets::{index, middle};
use instruments::tally::Tally;

/// 32 buckets an octave.
const BITS: u32 = 5;
const OCTAVES: usize = 40;
const BUCKETS: usize = OCTAVES << BITS;

/// Durations in ticks, in buckets of an exact width up to 64 ticks and then 32 an octave (3 %). It needs no heap, which
/// a forked child could not share.
pub struct LogHistogram {
    buckets: [u32; BUCKETS],
    longest: u64,
}

impl Default for LogHistogram {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], longest: 0 }
    }
}

impl LogHistogram {
    #[inline(always)]
    pub fn add(&mut self, ticks: u64) {
        let bucket = index::<BITS>(ticks).min(BUCKETS - 1);
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
        self.longest = self.longest.max(ticks);
    }

    /// The longest in ticks, exactly; 0 without any.
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// The middle of each bucket, as often as it was hit.
    pub fn tally(&self) -> Tally {
        let hit = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        Tally::from_counts(hit.map(|(bucket, &count)| (middle::<BITS>(bucket), u64::from(count))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_kept_within_three_per_cent() {
        for ticks in (0..40).map(|power| (1_u64 << power) + (1 << power) / 3) {
            let middle = middle::<BITS>(index::<BITS>(ticks)) as f64;
            assert!((middle - ticks as f64).abs() <= 0.017 * ticks as f64 + 0.5, "{ticks}: {middle}");
        }
    }

    #[test]
    fn the_longest_is_exact() {
        let mut histogram = LogHistogram::default();
        [5, 1_000_003, 70].iter().for_each(|&ticks| histogram.add(ticks));
        assert_eq!((histogram.longest(), histogram.tally().count()), (1_000_003, 3));
        histogram.add(u64::MAX);
        assert_eq!(histogram.longest(), u64::MAX);
    }
}
