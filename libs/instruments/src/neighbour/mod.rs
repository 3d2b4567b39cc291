//! Detection of SMT interference: activity of another hardware thread on this core, by its effect on the width of the
//! core.
//!
//! A core with two hardware threads issues instructions for both. The throughput of one depends on the activity of
//! the other at that moment, and a guest has no other source. The other thread may belong to another tenant. Steal
//! counts only time in which the whole virtual CPU did not run, and the kernel trace contains only the kernel's own
//! switches. The clock does not show it either, because a loop that waits for its own results takes as long as
//! before.
//!
//! [`Probe`] therefore runs two loops of less than a microsecond, three times each:
//!
//! - The **width** loop is limited by issue width: sixteen additions that do not depend on each other. With a busy
//!   SMT sibling it takes 1.3 to 2 times as long.
//! - The **latency** loop is limited by latency: multiplications, each of the previous result. A sibling changes it
//!   by at most a hundredth, so it measures the core's frequency. The width can then be stated in cycles, whatever
//!   the frequency.
//!
//! The expected width is unknown. A [`CoreWidth`] uses the least value that was seen often, which is the exclusive
//! core once the core has been exclusive for a part of the run. If that may never have happened, it returns the
//! reason: see [`Uncertainty`]. With it, a period between probes is [`Sharing::Alone`] (core exclusive),
//! [`Sharing::Shared`], or neither, because its probes differ.
//!
//! ```
//! use instruments::{clock::Clock, neighbour::{Probe, Probed, Sharing, Split, CoreWidth}};
//! use std::time::Duration;
//!
//! let clock = Clock::calibrate(Duration::from_millis(10)).clock;
//! let Some(probe) = Probe::calibrate(clock) else { return };
//! let mut core_width = CoreWidth::default();
//! let mut samples: Vec<(f64, Probed)> = Vec::new();
//! let mut before = probe.take();
//! for _ in 0..100 {
//!     let began = clock.stamp();
//!     std::hint::black_box((0..1000u64).fold(0, |sum, n| sum ^ n)); // the measured code
//!     let ns = clock.to_ns(clock.stamp() - began);
//!     let after = probe.take();
//!     samples.push((ns, Probed::between(before, after)));
//!     before = after;
//! }
//! samples.iter().for_each(|(_, probed)| _ = core_width.learn(probed));
//! let split = Split::of(samples.iter().map(|(ns, probed)| (*ns, core_width.sharing(&[*probed]))));
//! if let Some(alone) = split.alone {
//!     println!("{:.0} ns on the exclusive core, shared for {:?} of the time", alone.value, split.shared_share);
//! }
//! ```
//!
//! Neither loop shows interference from elsewhere on the socket, in the last-level cache and on the path to memory:
//! [`SocketProbe`] measures that, and takes longer.
//!
//! # Related work
//!
//! The choice of instructions for the first loop matters little: additions, no-ops and address computations lose the
//! same, loads a fifth of that and multiplications nearly nothing. The diagnostic snippets of SMTcheck (Moon and
//! others, "SMTcheck", 2016) are similar. So are the pressure curves of Bubble-Up (Mars and others, MICRO 2011) and
//! SMiTe (Zhang and others, MICRO 2014), by which the owner of a machine predicts how tenants affect each other. Here
//! a tenant measures.

mod alone;
mod core_width;
mod kinds;
mod loops;
mod pair;
mod probe;

pub use alone::Alone;
pub use core_width::{CoreWidth, Taken, Uncertainty, Widths, WidthsOverTime};
pub use kinds::{KINDS, Kind, Memory, SocketProbe, Workspace};
pub use pair::{Narrowing, Pair, pair};
pub use probe::{Probe, Probed, Reading, Sharing, Split};
