//! A histogram of fixed size.

use instruments::tally::Tally;

const BUCKETS_AN_OCTAVE: u64 = 32;
const OCTAVES: usize = 40;
const BUCKETS: usize = BUCKETS_AN_OCTAVE as usize * OCTAVES;

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
        let bucket = bucket_of(ticks).min(BUCKETS - 1);
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
        Tally::from_counts(hit.map(|(bucket, &count)| (middle_of(bucket), u64::from(count))))
    }
}

/// Below two octaves' worth of buckets each tick has its own.
#[inline(always)]
fn bucket_of(ticks: u64) -> usize {
    if ticks < 2 * BUCKETS_AN_OCTAVE {
        return ticks as usize;
    }
    let octave = 63 - u64::from(ticks.leading_zeros()) - u64::from(BUCKETS_AN_OCTAVE.trailing_zeros());
    (octave * BUCKETS_AN_OCTAVE + (ticks >> octave)) as usize
}

fn middle_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * BUCKETS_AN_OCTAVE {
        return bucket;
    }
    let octave = bucket / BUCKETS_AN_OCTAVE - 1;
    let start = (bucket - octave * BUCKETS_AN_OCTAVE) << octave;
    start + (1 << octave) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_kept_within_three_per_cent() {
        for ticks in (0..40).map(|power| (1_u64 << power) + (1 << power) / 3) {
            let middle = middle_of(bucket_of(ticks)) as f64;
            assert!((middle - ticks as f64).abs() <= 0.017 * ticks as f64 + 0.5, "{ticks}: {middle}");
        }
    }

    #[test]
    fn buckets_rise_without_a_gap() {
        let buckets: Vec<usize> = (0..100_000).map(bucket_of).collect();
        assert!(buckets.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
        assert!(bucket_of(u64::MAX / 2) > 0);
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
