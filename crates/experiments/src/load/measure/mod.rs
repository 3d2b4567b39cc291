//! The measurement: soakers grind and rest, the accounts are read at every change, and a row comes of every interval.

mod accounts;
mod apart;
mod edge;
mod run;
mod soaker;
mod stretches;
mod tally;
mod thread_clock;

pub use apart::run_apart;
pub use run::Measured;
pub use soaker::GRIND;
