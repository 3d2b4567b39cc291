//! Which CPUs there are, which of them this process may use, how much of them, and at what priority.
//!
//! | question | answer |
//! | --- | --- |
//! | which CPUs did the user ask for? | [`CpuSet`], parsed from `0-3,8` |
//! | does this machine have them, and may we use them? | [`resolve`] |
//! | run this thread on that one | [`pin_current_thread`] |
//! | which CPUs share a core with it? | [`siblings`] |
//! | how much CPU time does the cgroup grant? | [`cpu_quota`] |
//! | may a thread of ours run at real-time priority? | [`realtime::may_use_realtime`] |
//! | have this thread scheduled in another way | [`schedule::reschedule_current_thread`] |

mod affinity;
pub(crate) mod cgroup;
mod choice;
pub(crate) mod files;
pub mod priority;
pub mod realtime;
pub mod schedule;
mod set;
mod topology;

pub use affinity::{allowed, allowed_of, current_cpu, online, pin_current_thread, restrict_current_thread};
pub use cgroup::cpu_quota;
pub use choice::{UnusableCpus, resolve};
pub use set::{CpuSet, MAX_CPU, ParseCpuSetError};
pub use topology::siblings;
pub(crate) use topology::siblings_under;
