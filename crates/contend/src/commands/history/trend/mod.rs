//! A figure over all records: its series, the steps in it, and what else changed there.

mod answer;
mod command;
mod series;
mod show;

pub use command::{Flags, run};
