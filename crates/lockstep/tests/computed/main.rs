//! Clocks, ranks, places and injected interruptions of a job.

mod alignment;
mod greeting;
mod injection;
mod placement;
mod prediction;
