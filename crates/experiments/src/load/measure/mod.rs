//! The measurement: soakers grind and rest, the accounts are read at every change, and a row comes of every interval.

mod accounts;
mod child_process;
mod run;
mod snapshot;
mod stretches;
mod totals;

pub use child_process::run_in_child;
pub use loops::load::GRIND;
pub use run::Measured;
