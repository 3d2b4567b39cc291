//! ulockflex's loop: the work of the children of a run, and their counts.

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
pub use spec::{LoopSpec, Observation};
pub use variations::{Ramp, Stop, Variations};
