//! A lock at a call site, as a thread finds it.

#[cfg(any(preload, clippy))]
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Locks that are remembered of those that are taken while one is held.
pub const WITHIN: usize = 8;

/// In [`Place::acquisitions`]: each hold is timed, because the holds here are long enough for that.
pub const TIMES_ALL: u64 = 1 << 63;

/// Where the pair of a lock and a call site is, in one line of the cache.
#[repr(C, align(64))]
pub struct Place {
    /// The lock's key; 0 where nothing is.
    pub key: AtomicU64,
    /// The call site.
    pub site: AtomicU64,
    /// Times that the lock was taken here. It stands beside what says whether this is the place, since that is in the
    /// CPU's cache then: an uncontended lock touches nothing of the pair. The topmost bit is `TIMES_ALL`.
    pub acquisitions: AtomicU64,
    /// The pair's place.
    pub pair: AtomicU32,
    /// The lock's place.
    pub place: AtomicU32,
    /// Places, plus 1, of locks of which it was noted that they are taken while this one is held. Here for the same
    /// reason.
    pub within: [AtomicU32; WITHIN],
}

#[cfg(any(preload, clippy))]
impl Place {
    /// Counts that the lock was taken here; how often it was before, with `TIMES_ALL`.
    #[inline(always)]
    pub(crate) fn count(&self) -> u64 {
        let before = self.acquisitions.load(Relaxed);
        self.acquisitions.store(before + 1, Relaxed);
        before
    }

    /// Says whether each hold is timed from now on.
    pub(crate) fn times_all(&self, is_so: bool) {
        let before = self.acquisitions.load(Relaxed);
        let after = before & !TIMES_ALL | if is_so { TIMES_ALL } else { 0 };
        // Seldom: what a signal's handler counts in between would be lost.
        if after != before {
            self.acquisitions.store(after, Relaxed);
        }
    }

    /// Whether it is known to be noted that this lock is taken while the place's is held.
    #[inline(always)]
    pub(crate) fn knows(&self, lock: u32) -> bool {
        // SAFETY: it is as many words, which nobody but the calling thread reads or writes: so all are compared at once.
        let within = unsafe { self.within.as_ptr().cast::<[u32; WITHIN]>().read() };
        within.iter().fold(false, |is_there, there| is_there | (*there == lock + 1))
    }

    /// It is noted: where there are too many, another is forgotten.
    pub(crate) fn learn(&self, lock: u32) {
        let free = self.within.iter().find(|there| there.load(Relaxed) == 0);
        free.unwrap_or(&self.within[lock as usize % WITHIN]).store(lock + 1, Relaxed);
    }

    /// Forgets which locks were taken within: the place is another lock's.
    pub(crate) fn forget_within(&self) {
        self.within.iter().for_each(|there| there.store(0, Relaxed));
    }
}
