//! A discrete-event model of a machine with many cores, and of locks on it.
//!
//! The machine has cores in NUMA nodes, cache lines that one transfer at a time moves, run queues with time
//! slices, and futexes. A lock is an `async` function in `locks`: each memory access, pause or system call is an
//! `await`, and its result comes when the modelled time has passed. [`simulate`] runs the loop of `contend throughput`
//! on it. Nothing is measured here: every time is computed from [`Costs`].

mod locks;
mod machine;
mod simulation;
mod thread;

pub use locks::NAMES;
pub use machine::Costs;
pub use simulation::{Outcome, Setup, Work, simulate};
