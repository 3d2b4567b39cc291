//! What the children of a run share: the phase that they are in, and a place for each to write what it saw.

use instruments::clock::Clock;
use instruments::tally::Tally;
use instruments::team::StartGate;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The part of a run that a round belongs to.
pub const RAMP_UP: u32 = 0;
pub const COUNTING: u32 = 1;
pub const OVER: u32 = 2;

/// The phase, on a line of its own: the children read it in every round, and reading the clock there would cost more than
/// some locks.
#[repr(align(128))]
pub struct Stage {
    phase: AtomicU32,
    /// When counting began and ended, in ticks.
    opened: AtomicU64,
    closed: AtomicU64,
}

impl Stage {
    pub fn new() -> Self {
        Self { phase: AtomicU32::new(RAMP_UP), opened: AtomicU64::new(0), closed: AtomicU64::new(0) }
    }

    #[inline(always)]
    pub fn phase(&self) -> u32 {
        self.phase.load(Ordering::Relaxed)
    }

    /// Leads a run through its phases; the job of a member that takes no lock.
    pub fn conduct(&self, clock: Clock, ramp_up: Duration, counting: Duration, gate: &StartGate) {
        if gate.ready().is_some() {
            std::thread::sleep(ramp_up);
            self.opened.store(clock.now(), Ordering::Relaxed);
            self.phase.store(COUNTING, Ordering::Relaxed);
            std::thread::sleep(counting);
            self.phase.store(OVER, Ordering::Relaxed);
            self.closed.store(clock.now(), Ordering::Relaxed);
        } else {
            self.phase.store(OVER, Ordering::Relaxed);
        }
    }

    /// For how long rounds were counted, in ticks.
    pub fn counted_ticks(&self) -> u64 {
        self.closed.load(Ordering::Relaxed).saturating_sub(self.opened.load(Ordering::Relaxed))
    }
}

/// What one child saw. Plain data in shared memory: the child writes it, the parent reads it when the child has ended.
#[repr(align(128))]
#[derive(Default)]
pub struct Slot {
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
    pub longest_run: u64,
    pub waits: Durations,
    /// How long the lock was held, in the same rounds.
    pub holds: Durations,
}

const BUCKETS_AN_OCTAVE: u64 = 32;
const OCTAVES: usize = 40;
const BUCKETS: usize = BUCKETS_AN_OCTAVE as usize * OCTAVES;

/// Durations in ticks, in buckets of an exact width up to 64 ticks and then 32 an octave (3 %): a histogram of fixed size that
/// needs no heap, which a forked child could not share.
pub struct Durations {
    buckets: [u32; BUCKETS],
    longest: u64,
}

impl Default for Durations {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], longest: 0 }
    }
}

impl Durations {
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

/// What the calling thread has used so far.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub cpu_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

impl Usage {
    /// # Errors
    /// The system does not say.
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
        let mut durations = Durations::default();
        [5, 1_000_003, 70].iter().for_each(|&ticks| durations.add(ticks));
        assert_eq!((durations.longest(), durations.tally().count()), (1_000_003, 3));
        durations.add(u64::MAX);
        assert_eq!(durations.longest(), u64::MAX);
    }
}
