//! The counters of a child, with histograms of its waits and holds, and the system's counters of it.

use super::pieces::Pieces;
use instruments::log_buckets::{index, middle};
use instruments::tally::Tally;
use std::io;
use std::mem::MaybeUninit;

/// The counters of one child.
///
/// Plain data in shared memory, on separate cache lines: the child writes it, the parent reads it when the child has
/// ended.
#[derive(Default)]
pub struct ChildCounters {
    /// Rounds that began while counting.
    pub rounds: u64,
    /// All rounds.
    pub all_rounds: u64,
    /// Rounds under the protection of the lock's own counter.
    pub protected_rounds: u64,
    pub reads: u64,
    /// CPU time from start to end, in nanoseconds, and the wall time in ticks.
    pub cpu_ns: u64,
    pub wall_ticks: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub longest_streak: u64,
    pub pieces: Pieces,
    pub waits: LogHistogram,
    /// How long the lock was held, in the same rounds.
    pub holds: LogHistogram,
    /// The sum of those holds.
    pub held_ticks: u64,
    /// Rounds by step of a run whose number of children changes.
    pub steps: Counts<MOST_STEPS>,
    /// Rounds by part of a run in which a holder is stopped.
    pub parts: Counts<PARTS>,
}

/// Steps of a run with the most children.
pub const MOST_STEPS: usize = 35;
/// Parts of a run in which a holder is stopped.
pub const PARTS: usize = 512;

/// A count for each part of a run.
pub struct Counts<const N: usize>(pub [u64; N]);

impl<const N: usize> Default for Counts<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Counts<N> {
    /// Counts in the part with this number, if there is one.
    #[inline(always)]
    pub fn add(&mut self, part: u64) {
        if let Some(count) = self.0.get_mut(part as usize) {
            *count += 1;
        }
    }
}

/// The CPU time and switches that the calling thread has used so far.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub cpu_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

impl Usage {
    pub fn of_this_thread() -> io::Result<Self> {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the pointer is to memory of the right size, which the call fills when it succeeds.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded, so it filled the structure.
        let usage = unsafe { usage.assume_init() };
        Ok(Self {
            cpu_ns: instruments::clock::thread_cpu_ns(),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
        })
    }
}

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
