//! The CPUs of the machine: their selection, CPU quotas, topology and scheduling.
//!
//! | task | item |
//! | --- | --- |
//! | parse the CPUs that a user requested, such as `0-3,8` | [`CpuSet`] |
//! | check that they exist and that this process may use them | [`resolve`] |
//! | run this thread on one of them | [`pin_current_thread`] |
//! | list the CPUs that share a core with it | [`siblings`] |
//! | read the CPU time that the cgroup grants | [`cpu_quota`] |
//! | check that a thread may run at real-time priority | [`realtime::may_use_realtime`] |
//! | change the scheduling of this thread | [`schedule::reschedule_current_thread`] |

mod affinity;
pub(crate) mod cgroup;
pub(crate) mod files;
pub mod priority;
pub mod realtime;
pub mod schedule;
mod set;

pub(crate) use affinity::siblings_under;
pub use affinity::{
    UnusableCpus, allowed, allowed_of, current_cpu, online, pin_current_thread, resolve, restrict_current_thread,
    siblings,
};
pub use cgroup::{cpu_quota, cpu_quota_of};
pub use set::{CpuSet, MAX_CPU, ParseCpuSetError};
