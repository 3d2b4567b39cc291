//! ulockflex's loop: what the children of a run do, and what they count.

mod child;
mod counters;
mod phase;
mod pieces;

pub use child::{AnyLocks, LoopSpec, make, together};
pub use counters::{ChildCounters, LogHistogram};
pub use phase::{RunPhase, Spans};
pub use pieces::{Looks, windows};
