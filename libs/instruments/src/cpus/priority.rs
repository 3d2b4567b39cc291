//! The scheduling priority of a thread.

use std::io;

use serde::{Deserialize, Serialize};

/// The scheduling priority of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Priority {
    /// Nice value from -20 (largest share of CPU time) to 19 (smallest); it has an effect under [`Policy::Other`] and
    /// [`Policy::Batch`].
    pub nice: i32,
    /// Scheduling policy.
    pub policy: Policy,
}

/// A scheduling policy, as in `sched(7)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_OTHER`: the fair time-sharing of ordinary threads.
    Other,
    /// `SCHED_FIFO`: real-time, runs until it blocks.
    Fifo,
    /// `SCHED_RR`: real-time, alternates with threads of equal priority.
    RoundRobin,
    /// `SCHED_BATCH`: like `Other`, but its wake-ups do not preempt.
    Batch,
    /// `SCHED_IDLE`: runs when no other thread wants to run.
    Idle,
    /// `SCHED_DEADLINE`: a budget in each period.
    Deadline,
    /// `SCHED_EXT`: a scheduler loaded as a BPF program.
    Ext,
    /// A policy that this program does not know.
    Unknown,
}

/// Returns the priority of the calling thread: `getpriority(2)` and `sched_getscheduler(2)`.
///
/// # Errors
///
/// Returns the error of a system call; none is known for the calling thread.
///
/// # Examples
///
/// ```
/// let now = instruments::cpus::priority::current()?;
/// assert!((-20..=19).contains(&now.nice));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn current() -> io::Result<Priority> {
    // On Linux "process 0" is the calling thread.
    let nice = rustix::process::getpriority_process(None)?;
    // SAFETY: the call takes a thread id (0: the calling thread) and no pointer. It is the bare system call, because
    // musl's wrapper always returns ENOSYS.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    if policy < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Priority { nice, policy: policy_from(policy) })
}

fn policy_from(number: libc::c_long) -> Policy {
    /// `SCHED_EXT`, since Linux 6.12; libc does not define it.
    const SCHED_EXT: libc::c_int = 7;
    match number as libc::c_int & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_OTHER => Policy::Other,
        libc::SCHED_FIFO => Policy::Fifo,
        libc::SCHED_RR => Policy::RoundRobin,
        libc::SCHED_BATCH => Policy::Batch,
        libc::SCHED_IDLE => Policy::Idle,
        libc::SCHED_DEADLINE => Policy::Deadline,
        SCHED_EXT => Policy::Ext,
        _ => Policy::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reset_on_fork_bit_does_not_hide_the_policy() {
        assert_eq!(policy_from(libc::c_long::from(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK)), Policy::Fifo);
        assert_eq!(policy_from(7), Policy::Ext);
        assert_eq!(policy_from(99), Policy::Unknown);
    }
}
