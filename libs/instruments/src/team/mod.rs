//! Threads, or processes, that start together, work for a while, and end together.
//!
//! Each member is pinned, prepares itself, and calls [`StartGate::ready`]. When the last one is ready, a start a little
//! in the future is announced, and all of them wait for that instant: a barrier would let them out one after the other,
//! and the first would run uncontended. A member that fails cancels the start, so nobody waits for it. Whose members
//! run code of a stranger's waits for none of them for ever.

mod error;
mod gate;
mod leavers;
mod processes;
mod threads;

pub use error::TeamError;
pub use gate::{Member, StartGate};
pub use leavers::{work_or_leave, work_together_or_leave};
pub use processes::work_together_as_processes;
pub use threads::{on_cpu, work_together};
