//! What a thread did with a lock at one call site ([`Pair`]), and how it finds that ([`Place`]).

use crate::histogram::{BUCKETS, bucket};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Of this many holds one is timed, unless all are.
pub const SAMPLE_OF: u64 = 64;
/// After a hold of this many ticks (1 to 2 us on most machines) at a place, each hold there is timed, for as long as
/// they take as much in the mean: to read the clock twice is some per cent of that at most.
#[cfg(any(preload, clippy))]
pub const LONG_TICKS: u64 = 4096;
/// Each is timed for this number of holds at least, before their mean counts.
#[cfg(any(preload, clippy))]
pub const FEW: u64 = 8;

/// A lock and a call site, as one thread (or one after another at its place) came there. Times are in ticks.
#[repr(C, align(64))]
pub struct Pair {
    /// The address that the call returns to; 0 while the place is free. Written last.
    pub site: AtomicU64,
    /// The lock's place.
    pub lock: AtomicU32,
    /// What it was taken as: a [`Kind`](super::Kind).
    pub kind: AtomicU32,
    /// Times that it was taken, once that is counted here no more: [`Region::acquisitions`](super::Region).
    pub acquisitions: AtomicU64,
    /// Where that is counted: the number of the thread's [`Place`] among all, plus 1.
    pub counted_at: AtomicU32,
    /// Tries, and waits with an end, that did not get it.
    pub timeouts: AtomicU64,
    /// Holds that were timed. Waits are few: they have their place in [`Region::waits`](super::Region). A condition is
    /// not held: see [`Self::vain_wakes`].
    pub holds: Times,
}

impl Pair {
    /// How often a thread was woken for nothing, where a condition is waited for: it waited again at the same call site
    /// without having released the mutex in between.
    pub fn vain_wakes(&self) -> &AtomicU64 {
        &self.holds.count
    }

    /// How often somebody signalled, where that is done.
    pub fn signals(&self) -> &AtomicU64 {
        &self.holds.count
    }
}

// Most pairs are used some times: these touch one line of the cache each.
const _: () = assert!(size_of::<Pair>() == 64);

/// Some times.
#[repr(C)]
pub struct Times {
    /// How many.
    pub count: AtomicU64,
    /// Their sum.
    pub ticks: AtomicU64,
    /// The longest.
    pub most: AtomicU64,
}

/// How often a time was of this length, by [`bucket`]. A single time is not in it: it is the sum of the [`Times`], and
/// so what is used once or twice takes no memory here.
pub type Buckets = [AtomicU32; BUCKETS];

/// The histograms of a pair.
#[repr(C)]
pub struct Histograms {
    /// Its waits.
    pub waits: Buckets,
    /// Its holds.
    pub holds: Buckets,
    /// Of [`Pair::holds`], those that were timed because each was, and not as a sample: how many, and their sum in
    /// ticks.
    pub every: [AtomicU64; 2],
}

/// Adds to what only this thread writes.
#[inline(always)]
pub fn add(counter: &AtomicU64, more: u64) -> u64 {
    let sum = counter.load(Relaxed).wrapping_add(more);
    counter.store(sum, Relaxed);
    sum
}

impl Times {
    /// Counts one.
    #[inline(always)]
    pub fn note(&self, ticks: u64, buckets: &Buckets) {
        let before = self.count.load(Relaxed);
        if before == 1 {
            increment(&buckets[bucket(self.ticks.load(Relaxed))]);
        }
        if before > 0 {
            increment(&buckets[bucket(ticks)]);
        }
        add(&self.ticks, ticks);
        if ticks > self.most.load(Relaxed) {
            self.most.store(ticks, Relaxed);
        }
        // Last, since a single time is its own sum: who is killed before has noted none.
        self.count.store(before.wrapping_add(1), Release);
    }

    /// Those that are in a bucket, by its number: not those that are none.
    pub fn in_buckets(&self, buckets: &Buckets) -> impl Iterator<Item = (usize, u64)> {
        let count = self.count.load(Acquire);
        let only = (count == 1).then(|| (bucket(self.ticks.load(Relaxed)), 1));
        let all = if count > 1 { &buckets[..] } else { &[] };
        let several = all.iter().map(|count| u64::from(count.load(Relaxed))).enumerate();
        only.into_iter().chain(several.filter(|(_, count)| *count > 0))
    }
}

#[inline(always)]
fn increment(count: &AtomicU32) {
    count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
}

/// Acquisitions that are remembered of those made while a lock is held.
const WITHIN: usize = 8;

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
    /// Tags of acquisitions made while this lock was the last that was held: their orders are noted. Here for the same
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

    /// Whether the orders of an acquisition with this tag, which is not 0, are known to be noted.
    #[inline(always)]
    pub(crate) fn knows(&self, tag: u32) -> bool {
        // SAFETY: it is as many words, which nobody but the calling thread reads or writes: so all are compared at once.
        let within = unsafe { self.within.as_ptr().cast::<[u32; WITHIN]>().read() };
        within.iter().fold(false, |is_there, there| is_there | (*there == tag))
    }

    /// They are noted: where there are too many, another is forgotten.
    pub(crate) fn learn(&self, tag: u32) {
        let free = self.within.iter().find(|there| there.load(Relaxed) == 0);
        free.unwrap_or(&self.within[(tag >> 8) as usize % WITHIN]).store(tag, Relaxed);
    }

    /// Forgets what was acquired within: the place is another lock's.
    pub(crate) fn forget_within(&self) {
        self.within.iter().for_each(|there| there.store(0, Relaxed));
    }
}
