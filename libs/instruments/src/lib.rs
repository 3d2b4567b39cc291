//! The measuring instruments of `contend`: clocks, calibrated work, gaps, kernel events, statistics.
//!
//! Nothing here knows an experiment, prints, or decides what to measure.
//!
//! | task | module |
//! |---|---|
//! | read the time in nanoseconds, with the cost of a read | [`clock`] |
//! | spend a known time without effect | [`grind`] |
//! | run threads that start and end together, each on its CPU | [`team`], [`cpus`] |
//! | detect when a thread did not run | [`gaps`] |
//! | distinguish events that hit several CPUs at once from chance | [`coincidence`] |
//! | attribute gaps to the tasks and interrupts that the kernel recorded | [`evidence`] |
//! | detect SMT interference, and separate its effect | [`neighbour`] |
//! | share memory with forked processes | [`shared_memory`] |
//! | time a lock or a function of your own | [`timing`] |
//! | count values exactly, or in bounded memory | [`tally`], [`bounded_tally`], [`log_buckets`] |
//! | compute confidence intervals, and decide when to stop | [`statistics`] |
//! | find the clusters in latencies, and the periodic components in time | [`spikes`], [`period`] |
//! | write a number with three digits | [`digits`] |
//! | identify a program or library by its hash | [`sha256`] |
//! | find a helper program, such as `gzip`, without the relative entries of PATH | [`helper`] |
//! | record the machine, and warn about properties that affect a measurement | [`environment`], [`warning`] |

#![warn(missing_docs)]

pub mod bounded_tally;
pub mod clock;
pub mod coincidence;
pub mod cpus;
pub mod digits;
pub mod environment;
pub mod evidence;
pub mod gaps;
pub mod grind;
pub mod helper;
/// # Examples
///
/// ```
/// use instruments::log_buckets::{bounds, index, middle};
///
/// // Eight buckets per octave: 100 ns is in a bucket of 8 ns.
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

/// Compiles the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
