//! The costs from which every time of the model follows.

use serde::{Deserialize, Serialize};

/// The costs of a machine, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Costs {
    /// An atomic read-modify-write on a line that the core alone has.
    pub atomic_ns: f64,
    /// The transfer of a cache line from another core of the same NUMA node.
    pub line_ns: f64,
    /// The transfer of a cache line from another NUMA node: assumed unless it was given.
    pub remote_line_ns: f64,
    /// A system call that does nothing.
    pub syscall_ns: f64,
    /// The waking thread's time to wake a blocked thread.
    pub wake_ns: f64,
    /// The time from a wake-up until the thread runs on a core that was idle.
    pub wake_latency_ns: f64,
    /// The time from the call that blocks until the core is free.
    pub sleep_ns: f64,
    /// A switch from one thread to another on a core.
    pub switch_ns: f64,
    /// The time slice after which a thread makes way for another thread of its core.
    pub slice_ns: f64,
}
