//! A value over all records: its series, its steps, and the other changes there.

mod choice;
mod command;
mod levels;
mod machines;
mod series;
mod show;

pub use command::{Flags, run};
