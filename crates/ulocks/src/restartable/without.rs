//! Where there is no sequence: an unknown processor, or a C library that registers no thread.

use core::sync::atomic::AtomicU32;

/// # Safety
/// None is needed: it does nothing.
pub(super) unsafe fn store_zero_if<const EXPECTED: u32>(_: usize, _: &AtomicU32) -> bool {
    false
}
