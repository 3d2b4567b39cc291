//! The kernel trace in experiments: the choice whether it is read, and its causes in words.

use clap::ValueEnum;
use instruments::evidence::{Cause, Kind};
use serde::{Deserialize, Serialize};

/// The choice whether the kernel trace is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EvidenceChoice {
    /// the best source that this process may read
    Best,
    /// no events: causes stay unknown, and recording costs nothing
    None,
}

/// Returns a cause in words: `task cron`, `interrupt local_timer`, `hypervisor`.
pub fn label(cause: &Cause) -> String {
    let kind = match cause.kind {
        Kind::Task => "task",
        Kind::Interrupt => "interrupt",
        Kind::Softirq => "softirq",
        Kind::SwitchedOut => "descheduled",
        Kind::Blocked => "blocked voluntarily",
        Kind::Steal => "hypervisor",
        Kind::RealtimeThrottling => "real-time throttling",
        Kind::CgroupThrottling => "cgroup throttling",
        Kind::TimerSlack => "timer slack",
        Kind::TimerLate => "late timer",
        Kind::Idle => "idle",
        Kind::Own => "own work",
        Kind::Unexplained => "unexplained",
    };
    match &cause.name {
        Some(name) => format!("{kind} {name}"),
        None => kind.to_owned(),
    }
}
