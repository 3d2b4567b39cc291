//! What `contend` measures with.
//!
//! Nothing here knows an experiment, prints, or decides what is measured.
//!
//! | to | use |
//! |---|---|
//! | read the time in nanoseconds and know what a read costs | [`clock`] |
//! | spend a known time doing nothing | [`grind`] |
//! | run threads that start and end together, each on its CPU | [`team`], [`cpus`] |
//! | see when a thread did not run | [`gaps`] |
//! | tell what hits several CPUs at once from chance | [`coincidence`] |
//! | know from the kernel who ran instead | [`evidence`] |
//! | see who else is on the core, and have a figure without them | [`neighbour`] |
//! | share memory with forked processes | [`shared_memory`] |
//! | time a lock or a function of your own | [`timing`] |
//! | count values without loss, or in memory that does not grow | [`tally`], [`bounded_tally`], [`log_buckets`] |
//! | say how sure a figure is, and when enough was measured | [`statistics`] |
//! | find the clusters in latencies, and what recurs in time | [`spikes`], [`period`] |
//! | know which program or library it was | [`sha256`] |
//! | know the machine, and what a reader must be told | [`environment`], [`warning`] |

#![warn(missing_docs)]

pub mod bounded_tally;
pub mod clock;
pub mod coincidence;
pub mod cpus;
pub mod environment;
pub mod evidence;
pub mod gaps;
pub mod grind;
/// ```
/// use instruments::log_buckets::{bounds, index, middle};
///
/// // Eight buckets an octave: 100 ns lie in a bucket of 8 ns.
/// let bucket = index::<3>(100);
/// assert_eq!((bounds::<3>(bucket), middle::<3>(bucket)), ((96, 104), 100));
/// ```
pub mod log_buckets;
pub mod neighbour;
pub mod period;
pub mod sha256;
pub mod shared_memory;
pub mod spikes;
pub mod statistics;
pub mod tally;
pub mod team;
pub mod timing;
pub mod warning;

/// The README's examples are tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
