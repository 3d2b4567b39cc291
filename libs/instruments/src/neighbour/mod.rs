//! Who else is on this core: another hardware thread, seen by what it takes of the core's width.
//!
//! A core with two hardware threads issues for both. What one of them gets depends on what the other does at that
//! moment, and in a guest nothing tells: the other thread may be another tenant's, steal counts only time in which the
//! whole virtual CPU did not run, and the kernel's record has only what it switched itself. The clock cannot tell
//! either, for a loop that waits for its own results takes as long as before.
//!
//! So [`Probe`] runs two loops of less than a microsecond, three times each:
//!
//! - one is limited by **width**: sixteen additions that do not depend on each other. With a busy SMT sibling it takes
//!   1.3 to 2 times as long;
//! - one is limited by **latency**: multiplications, each of the last one's result. A neighbour changes it by no more
//!   than a hundredth, so it tells the core's frequency, and the width can be stated in cycles, whatever the frequency.
//!
//! Nothing says what the width should be; a [`CoreWidth`] takes the least that was often seen, which is the core alone
//! once it has been alone for some of the run. Where it may never have been, it says so: see [`Uncertainty`]. With it, a
//! stretch between probes is [`Sharing::Alone`], [`Sharing::Shared`], or neither, because its probes do not agree.
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
//!     std::hint::black_box((0..1000u64).fold(0, |sum, n| sum ^ n)); // what is measured
//!     let ns = clock.to_ns(clock.stamp() - began);
//!     let after = probe.take();
//!     samples.push((ns, Probed::between(before, after)));
//!     before = after;
//! }
//! samples.iter().for_each(|(_, probed)| _ = core_width.learn(probed));
//! let split = Split::of(samples.iter().map(|(ns, probed)| (*ns, core_width.sharing(&[*probed]))));
//! if let Some(alone) = split.alone {
//!     println!("{:.0} ns alone on the core, which was shared {:?} of the time", alone.value, split.shared_share);
//! }
//! ```
//!
//! What a neighbour elsewhere on the socket takes, of the last cache and of the way to memory, shows in neither loop:
//! [`SocketProbe`] is for that, and takes longer.
//!
//! Which instructions the first loop has matters little: additions, no-ops and address computations lose the same,
//! loads a fifth of that and multiplications next to nothing. Kin: the diagnostic snippets of SMTcheck (Moon and
//! others, "SMTcheck", 2016), and the pressure curves of Bubble-Up (Mars and others, MICRO 2011) and SMiTe (Zhang and
//! others, MICRO 2014), by which the owner of a machine predicts how tenants affect each other. Here a tenant
//! asks.

mod alone;
mod core_width;
mod kinds;
mod loops;
mod pair;
mod probe;
mod split;

pub use alone::Alone;
pub use core_width::{CoreWidth, Taken, Uncertainty, Widths, WidthsOverTime};
pub use kinds::{KINDS, Kind, Memory, SocketProbe, Workspace};
pub use pair::{Narrowing, Pair, pair};
pub use probe::{Probe, Probed, Reading, Sharing};
pub use split::Split;
