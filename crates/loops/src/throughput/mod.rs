//! ulockflex's loop: what the children of a run do, and what they count.

mod child;
mod counters;
mod histogram;
mod make_locks;
mod phase;
mod pieces;
mod random;

pub use child::{AnyLocks, LoopSpec, together};
pub use counters::ChildCounters;
pub use histogram::LogHistogram;
pub use make_locks::make;
pub use phase::{RunPhase, Spans};
pub use pieces::{Looks, windows};
