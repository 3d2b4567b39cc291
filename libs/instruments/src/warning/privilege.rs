//! What a measurement may not do here.

use serde::Serialize;

use super::kind::WarningKind;
use super::severity::Severity;
use crate::cpus::realtime::Missing;

/// Real-time threads were wanted and are not to be had.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoRealtimePriority {
    /// What is missing.
    pub missing: Missing,
}

impl WarningKind for NoRealtimePriority {
    const CODE: &'static str = "no_realtime_priority";

    fn message(&self) -> String {
        format!("real-time priority was refused: {}", self.missing)
    }

    fn remedy(&self) -> &'static str {
        self.missing.remedy()
    }
}

/// A nice value below the present one was wanted and is not to be had.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NiceRefused {
    /// The value.
    pub wanted: i32,
    /// What was granted instead.
    pub granted: i32,
}

impl WarningKind for NiceRefused {
    const CODE: &'static str = "nice_refused";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        let Self { wanted, granted } = self;
        format!("nice value {wanted} was refused; {granted} was used instead")
    }

    fn remedy(&self) -> &'static str {
        "run `sudo setcap cap_sys_nice+ep $(command -v contend)`, or add the line `YOUR_USER - nice -20` to a file \
         in /etc/security/limits.d and log in again; in a container start it with --cap-add SYS_NICE"
    }
}

/// A priority that needs a privilege was requested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorityRefused {
    /// The priority.
    pub wanted: String,
    /// The system's words.
    pub reason: String,
}

impl WarningKind for PriorityRefused {
    const CODE: &'static str = "priority_refused";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        let Self { wanted, reason } = self;
        format!("priority {wanted} was refused ({reason}); SCHED_IDLE was measured instead")
    }

    fn remedy(&self) -> &'static str {
        "run `sudo setcap cap_sys_nice+ep $(command -v contend)`, or raise the limit with the line \
         `YOUR_USER - nice -20` in a file in /etc/security/limits.d and log in again; in a container start it \
         with --cap-add SYS_NICE"
    }
}

/// The recorder's memory could not be locked, so that a page fault may hit a measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryNotLocked {
    /// The system's words.
    pub reason: String,
}

impl WarningKind for MemoryNotLocked {
    const CODE: &'static str = "memory_not_locked";

    fn message(&self) -> String {
        format!("the recorder's memory could not be locked: {}", self.reason)
    }

    fn remedy(&self) -> &'static str {
        "raise RLIMIT_MEMLOCK: `ulimit -l unlimited` as root, or the line `YOUR_USER - memlock unlimited` in a \
         file in /etc/security/limits.d; or grant CAP_IPC_LOCK"
    }
}
