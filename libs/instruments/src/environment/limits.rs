//! The resource limits of this process: its control group's CPU time, real-time priority, locked memory.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cpus::cgroup::CpuGroup;
use crate::cpus::files;

/// The resource limits of this process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Version of the control groups that limit its CPU time: 1 or 2.
    pub cgroup_version: Option<u8>,
    /// Number of CPUs whose time the control groups grant; `None` is without limit.
    pub cpu_quota_cpus: Option<f64>,
    /// Weight of its group relative to sibling groups (version 2; 100 by default).
    pub cpu_weight: Option<u64>,
    /// Shares of its group relative to sibling groups (version 1; 1,024 by default).
    pub cpu_shares: Option<u64>,
    /// Highest real-time priority that it may use without CAP_SYS_NICE (RLIMIT_RTPRIO).
    pub realtime_priority_max: Option<u64>,
    /// Memory that it may lock, in KiB (RLIMIT_MEMLOCK); `None` is without limit.
    pub locked_memory_kib: Option<u64>,
}

impl Limits {
    pub(super) fn read(root: &Path) -> Self {
        let group = CpuGroup::find(root);
        let limits = files::text(root, "proc/self/limits").unwrap_or_default();
        Self {
            cgroup_version: group.as_ref().map(|group| group.version),
            cpu_quota_cpus: group.as_ref().and_then(CpuGroup::quota_cpus),
            cpu_weight: group.as_ref().and_then(CpuGroup::weight),
            cpu_shares: group.as_ref().and_then(CpuGroup::shares),
            realtime_priority_max: soft_limit(&limits, "Max realtime priority"),
            locked_memory_kib: soft_limit(&limits, "Max locked memory").map(|bytes| bytes / 1024),
        }
    }
}

/// Returns the first number after the limit's name; `unlimited` is `None`.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
        Max cpu time              unlimited            unlimited            seconds   \n\
        Max locked memory         8388608              unlimited            bytes     \n\
        Max realtime priority     0                    99                             \n";

    #[test]
    fn soft_limit_is_read() {
        assert_eq!(soft_limit(LIMITS, "Max locked memory"), Some(8_388_608));
        assert_eq!(soft_limit(LIMITS, "Max realtime priority"), Some(0));
        assert_eq!(soft_limit(LIMITS, "Max cpu time"), None);
        assert_eq!(soft_limit(LIMITS, "Max bananas"), None);
    }
}
