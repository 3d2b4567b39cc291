//! Whether a thread of this process may run at real-time priority, and what is missing if not.

use std::path::Path;
use std::{fmt, io, thread};

use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};

use super::cgroup::CpuGroup;
use super::files;

/// The missing condition for real-time priority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Missing {
    /// Neither the capability CAP_SYS_NICE nor a limit RLIMIT_RTPRIO above 0.
    Capability,
    /// The process has CAP_SYS_NICE, but only inside a user namespace (a rootless container), where it has no effect.
    UserNamespace,
    /// The control group's `cpu.rt_runtime_us` is 0: its real-time threads may not run.
    GroupBudget,
    /// The system refuses it although no condition is visibly missing (a system call filter, a security module).
    Refused {
        /// Error text of the system.
        reason: String,
    },
}

impl Missing {
    /// Returns how to obtain the missing condition.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Capability => {
                "run `sudo setcap cap_sys_nice+ep $(command -v contend)`, or add the line \
                 `YOUR_USER - rtprio 10` to a file in /etc/security/limits.d and log in again; \
                 in a container start it with --cap-add SYS_NICE"
            }
            Self::UserNamespace => {
                "run outside the rootless container, or raise the limit before you enter it: put the line \
                 `YOUR_USER - rtprio 10` in a file in /etc/security/limits.d, then log in again"
            }
            Self::GroupBudget => {
                "give the cgroup real-time runtime, from its topmost group down: write 950000 to its \
                 cpu.rt_runtime_us, or run from a group that has some"
            }
            Self::Refused { .. } => {
                "find the system call filter (seccomp) or the security module that denies sched_setscheduler, \
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
            Self::GroupBudget => f.write_str("the cgroup's cpu.rt_runtime_us is 0"),
            Self::Refused { reason } => write!(f, "the kernel refused it: {reason}"),
        }
    }
}

impl std::error::Error for Missing {}

/// Checks that a thread of this process may use `SCHED_FIFO` at the lowest real-time priority, 1.
///
/// Only an attempt gives a reliable result, since limits, capabilities, namespaces, control groups and filters all
/// affect it. A separate thread makes the attempt and ends at once, so that no thread remains changed. The cost is
/// about 0.1 ms.
///
/// # Errors
///
/// Returns the [`Missing`] condition; its [`Missing::remedy`] describes how to obtain it.
///
/// # Examples
///
/// ```
/// use instruments::cpus::realtime::may_use_realtime;
///
/// if let Err(missing) = may_use_realtime() {
///     println!("no real-time priority: {missing}. Remedy: {}", missing.remedy());
/// }
/// ```
pub fn may_use_realtime() -> Result<(), Missing> {
    let trial = thread::Builder::new().name("rt-probe".to_owned()).spawn(try_fifo);
    let outcome = trial.and_then(|trial| trial.join().unwrap_or_else(|_| Err(io::Error::other("the probe panicked"))));
    outcome.map_err(|error| diagnose(&error, &Conditions::read()))
}

/// Gives the calling thread `SCHED_FIFO` at priority 1. It must end right afterwards.
fn try_fifo() -> io::Result<()> {
    // SAFETY: `sched_param` is a C structure of integers, for which all zero bits are valid values.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = 1;
    // SAFETY: the kernel only reads the `sched_param` behind the pointer, which outlives the call. Thread 0 is the
    // calling thread. It is the bare system call, because musl's wrapper always returns ENOSYS.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const param) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The conditions that affect real-time priority.
struct Conditions {
    capability: bool,
    /// Whether RLIMIT_RTPRIO permits priority 1.
    limit: bool,
    user_namespace: bool,
    group_budget_us: Option<i64>,
}

impl Conditions {
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

/// Returns whether the map is that of the initial user namespace, which maps every user to itself.
fn is_initial_namespace(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

fn diagnose(error: &io::Error, conditions: &Conditions) -> Missing {
    let refused = || Missing::Refused { reason: error.to_string() };
    if error.raw_os_error() != Some(libc::EPERM) {
        return refused();
    }
    let granted = conditions.limit || (conditions.capability && !conditions.user_namespace);
    match conditions {
        Conditions { capability: true, user_namespace: true, limit: false, .. } => Missing::UserNamespace,
        Conditions { group_budget_us: Some(0), .. } if granted => Missing::GroupBudget,
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

    const NOTHING: Conditions =
        Conditions { capability: false, limit: false, user_namespace: false, group_budget_us: None };

    #[test]
    fn each_refusal_has_its_own_reason() {
        let diagnose_with = |conditions: Conditions| diagnose(&eperm(), &conditions);
        assert_eq!(diagnose_with(NOTHING), Missing::Capability);
        assert_eq!(
            diagnose_with(Conditions { capability: true, user_namespace: true, ..NOTHING }),
            Missing::UserNamespace
        );
        assert_eq!(
            diagnose_with(Conditions { capability: true, group_budget_us: Some(0), ..NOTHING }),
            Missing::GroupBudget
        );
        assert!(matches!(diagnose_with(Conditions { limit: true, ..NOTHING }), Missing::Refused { .. }));
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
}
