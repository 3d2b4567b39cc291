//! Replacement for a processor without a sequence, or a C library that registers no thread.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Whether this module has sequences.
pub(super) const EXISTS: bool = false;

/// Returns `false`, because there are no sequences.
///
/// # Safety
///
/// There is no requirement: the function does nothing.
pub(super) unsafe fn store_zero_if<const EXPECTED: u32>(_: usize, _: &AtomicU32) -> bool {
    false
}

/// Returns `false`, because there are no sequences.
///
/// # Safety
///
/// There is no requirement: the function does nothing.
pub(super) unsafe fn store_if(_: usize, _: &AtomicU64, _: u64, _: u64) -> bool {
    false
}

/// Returns one number for all threads, since no store is for a single thread here.
///
/// It is not 0, which means that no thread has claimed a lock: a thread that compared with 0 would bypass the threads
/// that use the inner lock.
pub(super) fn thread_pointer() -> u64 {
    4
}
