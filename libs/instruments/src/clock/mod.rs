//! The clock: the CPU's own counter, converted to nanoseconds.
//!
//! A counter read costs about half of a `clock_gettime` call, and its value can be subtracted before it is converted,
//! so measurements keep ticks and convert when they have ended. The counter is trusted only on evidence (see
//! [`Source::choose`]); otherwise the clock falls back to `clock_gettime(CLOCK_MONOTONIC_RAW)` and says why.
//!
//! Two reads are offered because they answer two questions:
//!
//! - [`Clock::now`] is the cheapest read. The CPU may move it past neighbouring instructions by as much as its
//!   reorder window, some hundred instructions. It suits loops that do nothing but read the clock.
//! - [`Clock::stamp`] waits until all that stands before it has completed and holds back all that stands after it.
//!   It costs about twice as much. Without it a lock of 3 ns disappears: on a Zen 5 machine two plain reads around the
//!   two halves of an uncontended mutex took exactly as long as the two reads alone, because the atomic instructions
//!   ran in the reads' shadow.
//!
//! ```
//! use instruments::clock::Clock;
//! use std::time::Duration;
//!
//! let clock = Clock::calibrate(Duration::from_millis(20)).clock;
//! let start = clock.stamp();
//! let end = clock.stamp();
//! assert!(clock.to_ns(end - start) < 1e9);
//! ```

mod agreement;
mod calibration;
mod cost;
mod counter;
mod ticks;

pub use agreement::{Agreement, agreement};
pub use calibration::{Anchor, Calibration, ConversionError};
pub(crate) use cost::step;
pub use cost::{Cost, Quality, ordered_read_cost_ns, quality, read_cost_ns};
pub use counter::Source;
pub use ticks::Clock;
