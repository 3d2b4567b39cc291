//! Who kept whom waiting, of what the threads of a program noted of themselves ([`waits`]) and the kernel of their
//! switches ([`switches`]), both on one clock ([`time`]).
//!
//! It is read while the program runs, on the same CPUs: so it is a crate that is optimised, and its loops have nothing
//! generic that would be compiled elsewhere.

mod causes;
mod critical;
pub mod frames;
pub mod jvm;
mod lost;
mod memory;
pub mod names;
pub mod places;
pub mod python;
pub mod sampling;
pub mod stacks;
pub mod stuck;
pub mod switches;
pub mod time;
pub mod waits;

pub use lost::{Lost, TraceLost};
