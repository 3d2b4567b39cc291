//! What the kernel reports, as it happens on a CPU.

/// One report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in ticks.
    pub at: u64,
    /// What.
    pub kind: EventKind,
}

/// The number of a task that is ending and has given up its own: whoever has the CPU.
pub(super) const ENDING: u32 = u32::MAX;

/// What can happen on a CPU. Tasks are thread ids, 0 for the idle task; handlers are numbers from
/// [`Names::handler`](super::Names::handler).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A task left the CPU.
    Left {
        /// Who.
        task: u32,
        /// Who takes it; `None` where that is not told.
        next: Option<u32>,
        /// It wanted to go on.
        preempted: bool,
    },
    /// A task took the CPU.
    Took {
        /// Who.
        task: u32,
        /// Who had it; `None` where that is not told.
        previous: Option<u32>,
    },
    /// A handler began.
    Entered {
        /// Inside this task's time.
        task: u32,
        /// Which handler.
        handler: u32,
    },
    /// A handler ended.
    Exited {
        /// Inside this task's time.
        task: u32,
        /// Which handler.
        handler: u32,
    },
    /// The kernel found no room for reports since the one before.
    Lost {
        /// How many.
        reports: u64,
    },
}
