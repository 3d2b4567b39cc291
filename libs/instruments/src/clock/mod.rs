//! The clock: the CPU's own counter, converted to nanoseconds.
//!
//! A read of the counter costs about half as much as a call of `clock_gettime`. Its values can be subtracted before
//! they are converted, so measurements store ticks and convert them afterwards. The counter is trusted only on
//! evidence (see [`Source::choose`]); otherwise the clock falls back to `clock_gettime(CLOCK_MONOTONIC_RAW)` and
//! states the reason.
//!
//! There are two kinds of read:
//!
//! - [`Clock::now`] is the cheapest read. The CPU may reorder it with adjacent instructions by as much as its reorder
//!   window, a few hundred instructions. It is suitable for loops that do nothing but read the clock.
//! - [`Clock::stamp`] waits until all earlier instructions have completed and delays all later ones. It costs about
//!   twice as much. Without it a lock of 3 ns is invisible. On a Zen 5 machine, two plain reads around the two halves
//!   of an uncontended mutex took exactly as long as the two reads alone, because the atomic instructions overlapped
//!   with the reads.
//!
//! ```
//! use instruments::clock::Clock;
//! use std::time::Duration;
//!
//! let clock = Clock::calibrate(Duration::from_millis(20)).clock;
//! let start = clock.stamp();
//! let end = clock.stamp();
//! assert!(clock.to_ns(end - start) >= 0.0);
//! ```

mod agreement;
mod calibration;
mod cost;
mod counter;

pub use agreement::{Agreement, agreement};
pub use calibration::Clock;
pub use calibration::{Anchor, Calibration, ConversionError};
pub(crate) use cost::step;
pub use cost::{Cost, Quality, ordered_read_cost_ns, quality, read_cost_ns};
pub use counter::{Source, monotonic_raw_ns, thread_cpu_ns};
