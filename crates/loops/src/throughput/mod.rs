//! ulockflex's loop: what the children of a run do, and what they count.

mod child;
mod counters;
mod guarded;
mod phase;
mod pieces;
mod random;
mod spec;
mod variations;
mod varied;

pub use child::{AnyLocks, Made, make, together};
pub use counters::{ChildCounters, LogHistogram, MOST_STEPS, PARTS};
pub use phase::{RunPhase, Spans};
pub use pieces::{Looks, windows};
pub use spec::LoopSpec;
pub use variations::{Ramp, Stop, Variations};
