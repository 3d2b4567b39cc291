//! Changes of the calling thread's scheduling: `sched_setattr(2)`.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A scheduling policy with its parameters. Nice values range from -20 (largest share) to 19 (smallest), real-time
/// priorities from 1 to 99.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// `SCHED_OTHER`. Since Linux 6.12 the length of its time slices can be requested: 100 µs to 100 ms. Before that,
    /// and for `None`, the kernel chooses it.
    Fair {
        /// Nice value.
        nice: i32,
        /// Length of a time slice.
        slice: Option<Duration>,
    },
    /// `SCHED_BATCH`: waking up preempts no thread.
    Batch {
        /// Nice value.
        nice: i32,
    },
    /// `SCHED_IDLE`: runs when no other thread wants to run.
    Idle,
    /// `SCHED_FIFO`: runs until it blocks, so it must block; see [`bound_realtime`].
    Fifo {
        /// Real-time priority.
        priority: u32,
    },
    /// `SCHED_RR`: alternates with threads of equal priority, and must block as well.
    RoundRobin {
        /// Real-time priority.
        priority: u32,
    },
    /// `SCHED_DEADLINE`: precedes all other threads for `runtime` of each `period`, and then waits for the next one.
    /// The kernel places such a thread itself, so it refuses a pinned one.
    Deadline {
        /// CPU time in each period.
        runtime: Duration,
        /// Length of the period, from 100 µs to 4 s with the kernel's default settings.
        period: Duration,
    },
}

/// `struct sched_attr` in its first published size, which every kernel since 3.14 accepts.
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

impl Schedule {
    /// Returns whether the thread precedes every thread of the usual kind, and could keep a CPU from them.
    pub fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo { .. } | Self::RoundRobin { .. } | Self::Deadline { .. })
    }

    fn attributes(self) -> Attributes {
        let (policy, nice, priority, runtime) = match self {
            Self::Fair { nice, slice } => (libc::SCHED_OTHER, nice, 0, slice),
            Self::Batch { nice } => (libc::SCHED_BATCH, nice, 0, None),
            Self::Idle => (libc::SCHED_IDLE, 0, 0, None),
            Self::Fifo { priority } => (libc::SCHED_FIFO, 0, priority, None),
            Self::RoundRobin { priority } => (libc::SCHED_RR, 0, priority, None),
            Self::Deadline { runtime, .. } => (libc::SCHED_DEADLINE, 0, 0, Some(runtime)),
        };
        let period = if let Self::Deadline { period, .. } = self { period.as_nanos() as u64 } else { 0 };
        Attributes {
            size: size_of::<Attributes>() as u32,
            policy: policy as u32,
            flags: 0,
            nice,
            priority,
            runtime_ns: runtime.map_or(0, |runtime| runtime.as_nanos() as u64),
            deadline_ns: period,
            period_ns: period,
        }
    }
}

/// Schedules the calling thread with this policy from now on.
///
/// # Errors
///
/// Returns `EPERM` without `CAP_SYS_NICE` for a nice value below the current one, and for real-time priority without
/// `RLIMIT_RTPRIO` ([`may_use_realtime`](super::realtime::may_use_realtime) returns the missing condition). Returns
/// `EINVAL` for values out of range.
///
/// # Examples
///
/// ```
/// use instruments::cpus::priority::{Policy, current};
/// use instruments::cpus::schedule::{Schedule, reschedule_current_thread};
///
/// std::thread::spawn(|| {
///     reschedule_current_thread(Schedule::Idle).unwrap();
///     assert_eq!(current().unwrap().policy, Policy::Idle);
/// })
/// .join()
/// .unwrap();
/// ```
pub fn reschedule_current_thread(schedule: Schedule) -> io::Result<()> {
    let attributes = schedule.attributes();
    // SAFETY: the kernel reads `size` bytes behind the pointer, which is the size of the structure, and the structure
    // outlives the call. Thread 0 is the calling thread; there are no flags.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns the length of the calling thread's time slices as stored in the kernel; `None` if it stores none, before
/// Linux 6.12.
pub fn current_slice() -> Option<Duration> {
    let mut attributes = Schedule::Idle.attributes();
    // SAFETY: the kernel writes at most the given size behind the pointer, which is the size of the structure; thread
    // 0 is the calling thread; there are no flags.
    let result = unsafe {
        libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size_of::<Attributes>() as libc::c_uint, 0)
    };
    (result == 0 && attributes.runtime_ns > 0).then(|| Duration::from_nanos(attributes.runtime_ns))
}

/// The kernel's weights of nice -20, -19, …, 19, by which it divides a CPU between time-sharing threads. Each step is
/// a factor of about 1.25 (`sched_prio_to_weight` in `kernel/sched/core.c`).
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
    1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// Returns the weight of a nice value, from 15 at 19 and 1,024 at 0 to 88,761 at -20.
///
/// # Panics
///
/// Panics if `nice` is not in -20..=19.
pub fn weight(nice: i32) -> u32 {
    WEIGHTS[usize::try_from(nice + 20).expect("nice is at least -20")]
}

/// Makes the kernel end this process if one of its real-time threads runs for longer than `longest` without blocking.
///
/// That is the last resort against a thread of this process that occupies its CPU forever.
///
/// # Errors
///
/// Returns the error of the system call; none is known. A lower existing limit is kept.
pub fn bound_realtime(longest: Duration) -> io::Result<()> {
    let limit = longest.as_micros() as u64;
    let present = getrlimit(Resource::Rttime);
    let lower = |present: Option<u64>| Some(present.map_or(limit, |present| present.min(limit)));
    setrlimit(Resource::Rttime, Rlimit { current: lower(present.current), maximum: present.maximum })?;
    Ok(())
}
