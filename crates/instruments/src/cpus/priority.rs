//! How the scheduler ranks a thread, and whether it would let one of ours run at real-time priority.

use std::{fmt, io, thread};

use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};
use std::path::Path;

use super::cgroup::CpuGroup;
use super::files;

/// How the scheduler ranks a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Priority {
    /// From -20 (largest share of CPU time) to 19 (smallest); it counts under [`Policy::Other`] and [`Policy::Batch`].
    pub nice: i32,
    /// The scheduling policy.
    pub policy: Policy,
}

/// A scheduling policy, as in `sched(7)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_OTHER`: the fair time-sharing of ordinary threads.
    Other,
    /// `SCHED_FIFO`: real-time, runs until it sleeps.
    Fifo,
    /// `SCHED_RR`: real-time, takes turns with its equals.
    RoundRobin,
    /// `SCHED_BATCH`: as `Other`, but its wakeups do not preempt.
    Batch,
    /// `SCHED_IDLE`: runs when nobody else wants to.
    Idle,
    /// `SCHED_DEADLINE`: a budget in each period.
    Deadline,
    /// `SCHED_EXT`: a scheduler loaded as a BPF program.
    Ext,
    /// One that this program does not know.
    Unknown,
}

/// How the scheduler ranks the calling thread: `getpriority(2)` and `sched_getscheduler(2)`.
///
/// # Errors
/// Those of the system calls; none is known for one's own thread.
///
/// ```
/// let now = instruments::cpus::priority::current()?;
/// assert!((-20..=19).contains(&now.nice));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn current() -> io::Result<Priority> {
    // On Linux "process 0" is the calling thread.
    let nice = rustix::process::getpriority_process(None)?;
    // SAFETY: the call takes a thread id (0: the calling thread) and no pointer. The bare system call, because musl's
    // wrapper only says ENOSYS.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    if policy < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Priority { nice, policy: policy_from(policy) })
}

fn policy_from(number: libc::c_long) -> Policy {
    /// `SCHED_EXT`, since Linux 6.12; libc does not have it.
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

/// What keeps threads of this process from real-time priority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Missing {
    /// Neither the capability CAP_SYS_NICE nor a limit RLIMIT_RTPRIO above 0.
    Capability,
    /// CAP_SYS_NICE is there, but only inside a user namespace (a rootless container), where it does not count.
    UserNamespace,
    /// The control group's `cpu.rt_runtime_us` is 0: its real-time threads have no time to run in.
    GroupBudget,
    /// Refused although nothing is seen to be missing (a system call filter, a security module).
    Refused {
        /// The system's words.
        reason: String,
    },
}

impl Missing {
    /// How to get what is missing.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Capability => {
                "run `sudo setcap cap_sys_nice+ep $(command -v contend)`, or add the line \
                 `YOUR_USER - rtprio 10` to a file in /etc/security/limits.d and log in again; \
                 in a container start it with --cap-add SYS_NICE"
            }
            Self::UserNamespace => {
                "run it outside the rootless container, or raise the limit before entering it: the line \
                 `YOUR_USER - rtprio 10` in a file in /etc/security/limits.d, then log in again"
            }
            Self::GroupBudget => {
                "give the control group real-time time, from its topmost group down: write 950000 to its \
                 cpu.rt_runtime_us, or run from a group that has some"
            }
            Self::Refused { .. } => {
                "look for a system call filter (seccomp) or a security module that denies sched_setscheduler, \
                 or run it outside the sandbox"
            }
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capability => f.write_str("CAP_SYS_NICE is missing and RLIMIT_RTPRIO is 0"),
            Self::UserNamespace => {
                f.write_str("CAP_SYS_NICE is held only inside a user namespace and RLIMIT_RTPRIO is 0")
            }
            Self::GroupBudget => f.write_str("the control group's cpu.rt_runtime_us is 0"),
            Self::Refused { reason } => write!(f, "the system refused it: {reason}"),
        }
    }
}

impl std::error::Error for Missing {}

/// Whether a thread of this process may take `SCHED_FIFO` at the lowest real-time priority, 1.
///
/// The only sure answer is to try, since limits, capabilities, namespaces, control groups and filters all have a say.
/// A thread of its own tries and ends at once, so that no thread is left changed. Costs about 0.1 ms.
///
/// # Errors
/// What is [`Missing`], and by its [`Missing::remedy`] how to grant it.
///
/// ```
/// use instruments::cpus::priority::may_use_realtime;
///
/// if let Err(missing) = may_use_realtime() {
///     println!("no real-time priority: {missing}. Remedy: {}", missing.remedy());
/// }
/// ```
pub fn may_use_realtime() -> Result<(), Missing> {
    let trial = thread::Builder::new().name("rt-probe".to_owned()).spawn(try_fifo);
    let outcome = trial.and_then(|trial| trial.join().unwrap_or_else(|_| Err(io::Error::other("the probe panicked"))));
    outcome.map_err(|error| diagnose(&error, &Standing::read()))
}

/// Gives the calling thread `SCHED_FIFO` at priority 1. It must end right afterwards.
fn try_fifo() -> io::Result<()> {
    // SAFETY: `sched_param` is a C structure of integers, for which all zero bits are valid values.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = 1;
    // SAFETY: the kernel only reads the `sched_param` behind the pointer, which outlives the call. Thread 0 is the
    // calling thread. The bare system call, because musl's wrapper only says ENOSYS.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const param) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What has a say in real-time priority.
struct Standing {
    capability: bool,
    /// RLIMIT_RTPRIO lets priority 1 through.
    limit: bool,
    user_namespace: bool,
    group_budget_us: Option<i64>,
}

impl Standing {
    fn read() -> Self {
        let root = Path::new("/");
        let limit = rustix::process::getrlimit(rustix::process::Resource::Rtprio);
        Self {
            capability: capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE)),
            // `None` is "unlimited".
            limit: limit.current.is_none_or(|ceiling| ceiling > 0),
            user_namespace: files::text(root, "proc/self/uid_map").is_some_and(|map| !is_initial_namespace(&map)),
            group_budget_us: CpuGroup::find(root).and_then(|group| group.rt_runtime_us()),
        }
    }
}

/// The initial user namespace maps every user to itself.
fn is_initial_namespace(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

fn diagnose(error: &io::Error, standing: &Standing) -> Missing {
    let refused = || Missing::Refused { reason: error.to_string() };
    if error.raw_os_error() != Some(libc::EPERM) {
        return refused();
    }
    let granted = standing.limit || (standing.capability && !standing.user_namespace);
    match standing {
        Standing { capability: true, user_namespace: true, limit: false, .. } => Missing::UserNamespace,
        Standing { group_budget_us: Some(0), .. } if granted => Missing::GroupBudget,
        _ if granted => refused(),
        _ => Missing::Capability,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eperm() -> io::Error {
        io::Error::from_raw_os_error(libc::EPERM)
    }

    const NOTHING: Standing =
        Standing { capability: false, limit: false, user_namespace: false, group_budget_us: None };

    #[test]
    fn each_refusal_is_told_apart() {
        let diagnose_with = |standing: Standing| diagnose(&eperm(), &standing);
        assert_eq!(diagnose_with(NOTHING), Missing::Capability);
        assert_eq!(
            diagnose_with(Standing { capability: true, user_namespace: true, ..NOTHING }),
            Missing::UserNamespace
        );
        assert_eq!(
            diagnose_with(Standing { capability: true, group_budget_us: Some(0), ..NOTHING }),
            Missing::GroupBudget
        );
        assert!(matches!(diagnose_with(Standing { limit: true, ..NOTHING }), Missing::Refused { .. }));
    }

    #[test]
    fn another_error_is_passed_on() {
        let missing = diagnose(&io::Error::from_raw_os_error(libc::ENOSYS), &NOTHING);
        assert!(missing.to_string().contains("not implemented"), "{missing}");
    }

    #[test]
    fn the_capability_is_named_with_its_grant() {
        assert!(Missing::Capability.to_string().contains("CAP_SYS_NICE"));
        assert!(Missing::Capability.remedy().contains("setcap cap_sys_nice+ep $(command -v contend)"));
        assert!(Missing::Capability.remedy().contains("/etc/security/limits.d"));
    }

    #[test]
    fn the_initial_user_namespace_is_known() {
        assert!(is_initial_namespace("         0          0 4294967295"));
        assert!(!is_initial_namespace("         0       1000          1\n         1     100000      65536"));
    }

    #[test]
    fn the_reset_on_fork_bit_does_not_hide_the_policy() {
        assert_eq!(policy_from(libc::c_long::from(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK)), Policy::Fifo);
        assert_eq!(policy_from(7), Policy::Ext);
        assert_eq!(policy_from(99), Policy::Unknown);
    }
}
