//! What is looked at of a lock whenever it is taken.

use core::sync::atomic::AtomicU32;
#[cfg(any(preload, clippy))]
use core::sync::atomic::Ordering::Relaxed;

/// It lies apart from the rest of the lock: so one line of the cache has those of several that lie in a row.
#[repr(C)]
pub struct Hot {
    /// How many wait; [`Self::GONE`] once the lock was destroyed.
    pub waiters: AtomicU32,
}

impl Hot {
    /// The bit in the number of those who wait for what was destroyed: so a zero says that it is there and free.
    pub const GONE: u32 = 1 << 31;

    /// Whether somebody waits.
    #[cfg(any(preload, clippy))]
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiters.load(Relaxed) & !Self::GONE != 0
    }
}
