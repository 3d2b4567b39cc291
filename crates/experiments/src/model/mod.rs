//! `contend model`: the effect of the scheduler's lottery on a frame, of a machine's noise on a bulk-synchronous job, and
//! of many cores on locks.
//!
//! Nothing is measured here and no clock is calibrated: values are computed from the flags, or from a recorded trace.

mod frames;
mod locks;
mod show;
mod step;
mod trace;

pub use frames::Frames;
pub use locks::Locks;
pub use step::Step;
