//! `contend model`: what the scheduler's lottery does to a frame, and a machine's noise to a cluster in lock-step.
//!
//! Nothing is measured here and no clock is calibrated: figures are computed from the flags, or from a recorded trace.

mod frames;
mod show;
mod step;
mod trace;

pub use frames::Frames;
pub use step::Step;
