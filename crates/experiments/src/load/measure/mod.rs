//! The measurement: soakers grind and rest, the accounts are read at every change, and a row comes of every interval.

mod accounts;
mod child_process;
mod run;
mod snapshot;
mod soaker;
mod stretches;
mod thread_clock;
mod totals;

pub use child_process::run_in_child;
pub use run::Measured;
pub use soaker::GRIND;
