//! The counts of a child, with histograms of its waits and holds, and the system's counts of it.

use super::pieces::Pieces;
use instruments::log_buckets::{index, middle};
use instruments::tally::Tally;
use std::io;
use std::mem::MaybeUninit;

/// The counts of one child.
///
/// Plain data in shared memory, on separate cache lines: the child writes it, and the parent reads it when the child
/// has ended.
#[derive(Default)]
pub struct ChildCounters {
    /// The iterations that began while counting.
    pub rounds: u64,
    /// All rounds.
    pub all_rounds: u64,
    /// The iterations by the counter that the lock protects.
    pub protected_rounds: u64,
    pub reads: u64,
    /// The CPU time from start to end, in nanoseconds, and the wall time in ticks.
    pub cpu_ns: u64,
    pub wall_ticks: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub longest_streak: u64,
    pub pieces: Pieces,
    pub waits: LogHistogram,
    /// The hold times in the same iterations.
    pub holds: LogHistogram,
}

/// The resources that the calling thread has used so far.
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
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Ok(Self {
            cpu_ns: cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64,
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
        })
    }
}

/// The bits of a bucket within its octave: 32 buckets per octave.
const BITS: u32 = 5;
const OCTAVES: usize = 40;
const BUCKETS: usize = OCTAVES << BITS;

/// Durations in ticks, in buckets of an exact width up to 64 ticks and then 32 per octave (3 %).
///
/// It needs no heap, which a forked child could not share.
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

    /// Returns the longest duration in ticks, exactly; 0 without any.
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// Returns the middle of each bucket, as often as it was hit.
    pub fn tally(&self) -> Tally {
        let hit = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        Tally::from_counts(hit.map(|(bucket, &count)| (middle::<BITS>(bucket), u64::from(count))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_is_stored_within_three_per_cent() {
        for ticks in (0..40).map(|power| (1_u64 << power) + (1 << power) / 3) {
            let middle = middle::<BITS>(index::<BITS>(ticks)) as f64;
            assert!((middle - ticks as f64).abs() <= 0.017 * ticks as f64 + 0.5, "{ticks}: {middle}");
        }
    }

    #[test]
    fn longest_duration_is_exact() {
        let mut histogram = LogHistogram::default();
        [5, 1_000_003, 70].iter().for_each(|&ticks| histogram.add(ticks));
        assert_eq!((histogram.longest(), histogram.tally().count()), (1_000_003, 3));
        histogram.add(u64::MAX);
        assert_eq!(histogram.longest(), u64::MAX);
    }
}
