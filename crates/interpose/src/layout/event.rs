//! One wait, or one hold that others waited for.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// A wait that is over; or a hold, which has its times, thread and pair only.
#[repr(C)]
pub struct Event {
    /// Ticks when it began; 0 for a hold that began before anybody waited.
    pub began: AtomicU64,
    /// Ticks when it was over.
    pub ended: AtomicU64,
    /// Who had the lock when it began.
    pub holder: AtomicU64,
    /// Who had it last when it was over: for a signal, who gave it.
    pub releaser: AtomicU64,
    /// Ticks of the release, if it was noted.
    pub released: AtomicU64,
    /// Who waited: the kernel's number of the thread.
    pub thread: AtomicU32,
    /// The place of the pair, which says for what and where; plus 1. The uppermost bits are [`Self::IN_VAIN`] and
    /// [`Self::HOLD`].
    pub pair: AtomicU32,
}

impl Event {
    /// The bit of a wait that ended without the lock.
    pub const IN_VAIN: u32 = 1 << 31;
    /// The bit of a hold.
    pub const HOLD: u32 = 1 << 30;
}
