//! The threads that soak up what a CPU has left, and count what they could do with it.

mod running_median;
mod soaker;
mod thread_clock;

pub use soaker::{Demands, GRIND, Soaker, Soakers, no_longer_in_time, read_in_time};
pub use thread_clock::ThreadClock;
