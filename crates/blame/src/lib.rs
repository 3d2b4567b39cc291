//! Attribution of waits to the threads that caused them, from the notes of a program's threads ([`waits`]) and the
//! kernel's record of their switches ([`switches`]), both on one clock ([`time`]); of processes that already run, from their
//! futex calls ([`futexes`]).
//!
//! The data is read while the program runs, on the same CPUs. Therefore this is a separate crate that is optimised, and
//! its loops have nothing generic that would be compiled elsewhere.

mod allowance;
mod code;
pub mod durations;
mod exported;
pub mod frames;
pub mod futexes;
pub mod golang;
pub mod jvm;
pub mod lines;
mod lost;
pub mod memory;
pub mod names;
pub mod namespace;
pub mod pairs;
pub mod parked;
mod perf_rings;
pub mod places;
pub mod preempted;
pub mod purpose;
pub mod python;
pub mod sampling;
pub mod stacks;
pub mod stuck;
pub mod switches;
pub mod time;
pub mod waits;
pub mod watchpoints;

pub use allowance::{AFTER_THE_END, Allowance, Exhausted, join_within};
pub use lost::{Lost, TraceLost};
