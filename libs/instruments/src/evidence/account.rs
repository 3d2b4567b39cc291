//! The kernel's accounts of a thread over a whole period: the time for which it ran, and the time for which it waited
//! for a CPU. The part of the wall time that is missing from both is the time that the hypervisor took.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::clock::monotonic_raw_ns;
use crate::cpus::CpuSet;
use crate::cpus::cgroup::CpuGroup;
use crate::environment::{self, Activity};

/// The account of one thread over a period, or over several added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// Elapsed time in nanoseconds.
    pub wall_ns: u64,
    /// CPU time that the kernel charged to the thread, in nanoseconds.
    pub cpu_ns: u64,
    /// Time in nanoseconds in which the thread was ready and did not run, from `schedstat`; `None` if the kernel does
    /// not account for it.
    pub run_delay_ns: Option<u64>,
    /// Number of times that the thread slept or waited for something other than a CPU; `None` if the kernel does not
    /// report it.
    pub sleeps: Option<u64>,
    /// Time in nanoseconds for which its control groups were stopped for exceeding their quota; `None` if they have
    /// none.
    pub throttled_ns: Option<u64>,
    /// Steal of `/proc/stat` on the watched CPUs in nanoseconds, in steps of a jiffy.
    pub proc_steal_ns: Option<u64>,
    /// Whether the kernel charges interrupts to no task (IRQ_TIME_ACCOUNTING): they are then part of the missing
    /// time.
    pub interrupts_apart: bool,
}

impl Account {
    /// Returns the wall time in nanoseconds in which the thread neither ran nor waited for a CPU: it slept, or the
    /// time was stolen.
    ///
    /// The value is exact, while `/proc/stat` counts in jiffies, if it shows steal at all.
    pub fn missing_ns(&self) -> Option<u64> {
        Some(self.wall_ns.saturating_sub(self.cpu_ns).saturating_sub(self.run_delay_ns?))
    }

    /// Adds another period.
    pub fn absorb(&mut self, other: &Self) {
        let add = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        *self = Self {
            wall_ns: self.wall_ns + other.wall_ns,
            cpu_ns: self.cpu_ns + other.cpu_ns,
            run_delay_ns: add(self.run_delay_ns, other.run_delay_ns),
            sleeps: add(self.sleeps, other.sleeps),
            throttled_ns: add(self.throttled_ns, other.throttled_ns),
            proc_steal_ns: add(self.proc_steal_ns, other.proc_steal_ns),
            interrupts_apart: self.interrupts_apart || other.interrupts_apart,
        };
    }
}

/// A reader of the accounts of one thread.
#[derive(Debug)]
pub(super) struct Bookkeeper {
    thread: u32,
    cpus: CpuSet,
    group: Option<CpuGroup>,
    interrupts_apart: bool,
}

/// The thread's accounts at one point in time.
#[derive(Debug)]
pub(super) struct ThreadReading {
    wall_ns: u64,
    cpu_ns: Option<u64>,
    run_delay_ns: Option<u64>,
    sleeps: Option<u64>,
}

/// Accounts of other tasks, which take longer to read.
#[derive(Debug)]
pub(super) struct SystemReading {
    throttled_ns: Option<u64>,
    activity: Option<Activity>,
}

impl Bookkeeper {
    pub fn new(thread: u32, cpus: CpuSet) -> Self {
        let group = CpuGroup::find(Path::new("/"));
        Self { thread, cpus, group, interrupts_apart: interrupts_are_charged_to_nobody() }
    }

    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// Returns whether the kernel reports the time for which the thread waits.
    pub fn knows_delay(&self) -> bool {
        run_delay_ns(self.thread).is_some()
    }

    /// Reads the thread's current accounts.
    pub fn thread(&self) -> ThreadReading {
        let (run_delay_ns, sleeps) = (run_delay_ns(self.thread), sleeps(self.thread));
        ThreadReading { wall_ns: monotonic_raw_ns(), cpu_ns: thread_cpu_ns(self.thread).ok(), run_delay_ns, sleeps }
    }

    /// Reads the current accounts of the system.
    pub fn system(&self) -> SystemReading {
        let throttled_ns = self.group.as_ref().and_then(CpuGroup::throttled_ns);
        SystemReading { throttled_ns, activity: Activity::now().ok() }
    }

    /// Returns the account of the time between two readings.
    pub fn between(
        &self,
        thread: (&ThreadReading, &ThreadReading),
        system: (&SystemReading, &SystemReading),
    ) -> Account {
        let delta = |first: Option<u64>, last: Option<u64>| Some(last?.saturating_sub(first?));
        let (first, last) = thread;
        let wall_ns = last.wall_ns.saturating_sub(first.wall_ns);
        Account {
            wall_ns,
            cpu_ns: delta(first.cpu_ns, last.cpu_ns).unwrap_or(wall_ns),
            run_delay_ns: delta(first.run_delay_ns, last.run_delay_ns),
            sleeps: delta(first.sleeps, last.sleeps),
            throttled_ns: delta(system.0.throttled_ns, system.1.throttled_ns),
            proc_steal_ns: self.steal_ns(system.0, system.1),
            interrupts_apart: self.interrupts_apart,
        }
    }

    fn steal_ns(&self, first: &SystemReading, last: &SystemReading) -> Option<u64> {
        let share = last.activity.as_ref()?.since(first.activity.as_ref()?, &self.cpus)?;
        Some((share.steal_share * share.wall_s * self.cpus.len() as f64 * 1e9).round() as u64)
    }
}

/// Reads `cpu_ns run_delay_ns timeslices`.
fn run_delay_ns(thread: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Returns how often a thread of this process yielded its CPU voluntarily.
fn sleeps(thread: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse().ok())
}

/// Returns the CPU time of any thread of this process.
fn thread_cpu_ns(thread: u32) -> io::Result<u64> {
    /// The kernel's number for "the exact CPU time of a thread", under the complement of its id.
    const PER_THREAD_EXACT: i32 = 0b110;
    let clock = (!(thread as i32) << 3) | PER_THREAD_EXACT;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a timespec behind the pointer, which is one, exclusively borrowed; any clock number
    // is accepted, and a wrong one is refused.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Returns whether interrupts are charged to no task. The answer does not change and may cost a run of `gzip`, so it
/// is read once. A kernel that does not report it counts as one that charges interrupts to the interrupted task.
fn interrupts_are_charged_to_nobody() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| environment::interrupt_time().unwrap_or(false))
}
