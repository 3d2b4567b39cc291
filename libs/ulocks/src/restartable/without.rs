//! Where there is no sequence: an unknown processor, or a C library that registers no thread.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// # Safety
/// None is needed: it does nothing.
pub(super) unsafe fn store_zero_if<const EXPECTED: u32>(_: usize, _: &AtomicU32) -> bool {
    false
}

/// # Safety
/// None is needed: it does nothing.
pub(super) unsafe fn store_if(_: usize, _: &AtomicU64, _: u64, _: u64) -> bool {
    false
}

/// One number for all threads, since nothing is stored for one alone here. Not 0, which says that nobody has claimed a
/// lock: whoever compared with that would take it past those who look beneath.
pub(super) fn thread_pointer() -> u64 {
    4
}
