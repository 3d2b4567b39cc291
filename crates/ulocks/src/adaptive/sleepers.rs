//! How many threads of this process sleep for a lock: a hint, for all locks together.
//!
//! A spinner that yields gives its CPU to whoever wants it, other programs too. That pays only if one of those may be
//! the holder: where threads of this process sleep, there are so many of them that spinning briefly and sleeping is
//! better. A word has no room for a count, and a count of all locks is as good for this.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static SLEEPERS: AtomicU32 = AtomicU32::new(0);

/// Counted for as long as `sleep` takes.
pub(super) fn count<T>(sleep: impl FnOnce() -> T) -> T {
    SLEEPERS.fetch_add(1, Relaxed);
    let ended = sleep();
    SLEEPERS.fetch_sub(1, Relaxed);
    ended
}

/// Whether anybody sleeps.
#[cfg(not(loom))]
pub(super) fn any() -> bool {
    SLEEPERS.load(Relaxed) != 0
}

/// In a forked child nobody does.
#[cfg(not(loom))]
pub(super) fn forget() {
    SLEEPERS.store(0, Relaxed);
}
