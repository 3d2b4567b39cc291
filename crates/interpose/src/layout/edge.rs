//! That one lock was taken while another was held. Its key lies apart from it, among those of other orders: place of the
//! lock that was held, plus 1, in the upper half; of the one that was taken, plus 1, in the lower; 0 for a free place.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// An order of two locks, as it was seen first.
#[repr(C)]
pub struct Edge {
    /// Where the one that was held was taken.
    pub held_site: AtomicU64,
    /// Where the other was taken meanwhile.
    pub taken_site: AtomicU64,
    /// By whom: the kernel's number of the thread.
    pub thread: AtomicU32,
    /// Whether both were taken as readers do: 1 if so.
    pub readers: AtomicU32,
}

impl Edge {
    /// The key of these two places.
    pub fn key_of(held: u32, taken: u32) -> u64 {
        (held as u64 + 1) << 32 | (taken as u64 + 1)
    }

    /// The places of a key.
    pub fn places(key: u64) -> Option<(usize, usize)> {
        Some((((key >> 32) as usize).checked_sub(1)?, (key as u32 as usize).checked_sub(1)?))
    }
}
