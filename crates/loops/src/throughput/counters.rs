//! What a child counts, and what the system counts of it.

use super::histogram::LogHistogram;
use super::pieces::Pieces;
use std::io;
use std::mem::MaybeUninit;

/// What one child saw. Plain data in shared memory, on cache lines of its own: the child writes it, the parent reads it
/// when the child has ended.
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
