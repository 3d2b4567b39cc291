//! One watched process, from the start of its program on: an `exec` makes another of it.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Bytes of a process's memory map that are kept.
pub const MAPS: usize = 128 << 10;

/// A process, and what lies where in it.
#[repr(C, align(64))]
pub struct Process {
    /// The kernel's number of it; 0 while the place is free.
    pub pid: AtomicU32,
    /// How much of the map is written.
    pub maps_length: AtomicU32,
    /// Ticks when it was first seen.
    pub started: AtomicU64,
    /// `/proc/self/maps` as it last was.
    pub maps: [AtomicU8; MAPS],
}
