//! What is known of the whole.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// The first words of the memory.
#[repr(C, align(64))]
pub struct Header {
    /// [`Self::MAGIC`], once the memory is ready.
    pub magic: AtomicU64,
    /// What is recorded: 1 contended waits and one hold in [`SAMPLE_OF`](super::SAMPLE_OF), 2 every hold; 0 nothing;
    /// [`Self::WHAT_IF`] how far threads lag.
    pub level: AtomicU32,
    /// Where ticks come from: 1 the CPU's counter, 2 `CLOCK_MONOTONIC_RAW` in ns.
    pub clock: AtomicU32,
    /// Places of processes that were given out.
    pub processes: AtomicU32,
    /// Places of threads that were given out.
    pub threads: AtomicU32,
    /// Threads that came, be it to a place that another had before.
    pub comers: AtomicU32,
    /// Places of pairs that were given out.
    pub pairs: AtomicU32,
    /// Places of locks that were given out.
    pub locks: AtomicU32,
    /// Ended threads whose places can be had again: a count that tells one such chain from another, and above it the
    /// first place, plus 1.
    pub ended: AtomicU64,
    /// Processes that found no place.
    pub lost_processes: AtomicU64,
    /// Threads that found no place.
    pub lost_threads: AtomicU64,
    /// Times that a thread came to a lock that found no place.
    pub lost_locks: AtomicU64,
    /// Times that a thread came to a lock at a call site that found no place with it.
    pub lost_pairs: AtomicU64,
    /// Locks that were taken by a thread that held too many to note one more.
    pub lost_holds: AtomicU64,
    /// Orders of two locks that found no place.
    pub lost_edges: AtomicU64,
    /// Calls within a signal's handler that came while its thread was noting something.
    pub lost_reentered: AtomicU64,
}

impl Header {
    /// Says which layout this is: it changes with every change of the layout.
    pub const MAGIC: u64 = 0x636f_6e74_656e_6408;
    /// The level at which sections are virtually shorter, and nothing else is recorded.
    pub const WHAT_IF: u32 = 4;
}
