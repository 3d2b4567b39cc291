//! ulockflex's loop: the work of the children of a run, and their counts.

mod child;
mod counters;
mod phase;
mod pieces;

pub use child::{AnyLocks, LoopSpec, make, together};
pub use counters::{ChildCounters, LogHistogram};
pub use phase::{RunPhase, Spans};
pub use pieces::{Looks, windows};
