//! ulockflex's loop: what the children of a run do, and what they count.

mod child;
mod counters;
mod phase;
mod pieces;
mod variations;

pub use child::{AnyLocks, LoopSpec, Made, make, together};
pub use counters::{ChildCounters, LogHistogram, MOST_STEPS, PARTS};
pub use phase::{RunPhase, Spans};
pub use pieces::{Looks, windows};
pub use variations::{Ramp, Stop, Variations};
