//! A figure over all records: its series, the steps in it, and what else changed there.

mod choice;
mod command;
mod levels;
mod machines;
mod series;
mod show;

pub use command::{Flags, run};
