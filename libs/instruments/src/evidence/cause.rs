//! What can take a thread's time.

use serde::{Deserialize, Serialize};

/// One taker of time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// What sort of taker.
    pub kind: Kind,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its process, if it is a task.
    pub pid: Option<u32>,
}

/// The sorts of takers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Another thread, which ran meanwhile.
    Task,
    /// An interrupt.
    Interrupt,
    /// Work that an interrupt left for later.
    Softirq,
    /// Somebody else, whose name this source does not tell.
    SwitchedOut,
    /// The thread itself let go of the CPU: it slept or waited.
    Blocked,
    /// The hypervisor; where the kernel accounts for interrupts apart from threads, unseen interrupts too.
    Steal,
    /// The kernel's limit on real-time threads.
    RealtimeThrottling,
    /// The control group's quota.
    CgroupThrottling,
    /// The kernel may let a timer be late by so much, by the thread's own setting.
    TimerSlack,
    /// A timer was due and its interrupt did not come, though the CPU was awake.
    TimerLate,
    /// Nobody had the CPU: it idled, or left its idle state.
    Idle,
    /// The thread's own work, as much as is usual.
    Own,
    /// Nothing known.
    Unexplained,
}

impl Cause {
    /// A cause without a name.
    pub const fn unnamed(kind: Kind) -> Self {
        Self { kind, name: None, pid: None }
    }
}

/// How much one cause took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseTime {
    /// The cause.
    pub cause: Cause,
    /// Gaps that it had a part in.
    pub count: u64,
    /// The time it took, in ticks.
    pub ticks: u64,
}
