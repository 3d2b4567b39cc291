//! The record of one thread's calls for a lock at one call site ([`Pair`]), and the way to find it ([`Place`]).

use crate::histogram::{BUCKETS, bucket};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// The number of holds of which one is timed, unless all are.
pub const SAMPLE_OF: u64 = 64;
/// After a hold of this many ticks (1 to 2 us on most machines) at a place, each hold there is timed, for as long as
/// they take as much in the mean: to read the clock twice is some per cent of that at most.
#[cfg(any(preload, clippy))]
pub const LONG_TICKS: u64 = 4096;
/// With each hold timed, one of this many ticks (3 to 16 us) is kept although no thread waited for it: a hold in which
/// another thread ran is longer.
#[cfg(any(preload, clippy))]
pub const KEPT_TICKS: u64 = 1 << 14;
/// The least number of holds that are each timed, before their mean counts.
#[cfg(any(preload, clippy))]
pub const FEW: u64 = 8;

/// A lock and a call site, as one thread (or several in succession at its place) came there. Times are in ticks.
#[repr(C, align(64))]
pub struct Pair {
    /// The address that the call returns to; 0 while the place is free. Written last.
    pub site: AtomicU64,
    /// The lock's place.
    pub lock: AtomicU32,
    /// The [`Kind`](super::Kind) that the lock was acquired as.
    pub kind: AtomicU32,
    /// The number of acquisitions, once they are no longer counted here: [`Region::acquisitions`](super::Region).
    pub acquisitions: AtomicU64,
    /// The location of that count: the number of the thread's [`Place`] among all, plus 1.
    pub counted_at: AtomicU32,
    /// Tries, and waits with an end, that did not get the lock.
    pub timeouts: AtomicU64,
    /// Holds that were timed. Waits are few: they have their place in [`Region::waits`](super::Region). A condition is
    /// not held: see [`Self::vain_wakes`].
    pub holds: Times,
}

impl Pair {
    /// Returns the number of times that a thread was woken for nothing, where a condition is waited for: it waited
    /// again at the same call site without having released the mutex in between.
    pub fn vain_wakes(&self) -> &AtomicU64 {
        &self.holds.count
    }

    /// Returns the number of signals, at a call site that signals.
    pub fn signals(&self) -> &AtomicU64 {
        &self.holds.count
    }
}

// Most pairs are used some times: these touch one line of the cache each.
const _: () = assert!(size_of::<Pair>() == 64);

/// A number of times, with their sum and the longest.
#[repr(C)]
pub struct Times {
    /// The number of times.
    pub count: AtomicU64,
    /// Their sum.
    pub ticks: AtomicU64,
    /// The longest.
    pub most: AtomicU64,
}

/// The number of times of each length, by [`bucket`]. A single time is not in it: it is the sum of the [`Times`], and
/// so a pair that is used once or twice takes no memory here.
pub type Buckets = [AtomicU32; BUCKETS];

/// The histograms of a pair.
#[repr(C)]
pub struct Histograms {
    /// Its waits.
    pub waits: Buckets,
    /// Its holds.
    pub holds: Buckets,
    /// The times in [`Pair::holds`] that were measured because each hold was, and not as a sample: their number, and
    /// their sum in ticks.
    pub every: [AtomicU64; 2],
    /// The time in ticks of the waits that ended without the lock.
    pub vain_ticks: AtomicU64,
}

/// Adds to a counter that only this thread writes.
#[inline(always)]
pub fn add(counter: &AtomicU64, more: u64) -> u64 {
    let sum = counter.load(Relaxed).wrapping_add(more);
    counter.store(sum, Relaxed);
    sum
}

impl Times {
    /// Counts one time.
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
        // Last, since a single time is its own sum: a thread that is killed before has noted none.
        self.count.store(before.wrapping_add(1), Release);
    }

    /// Returns the number of times in each bucket, by the bucket's number, without empty buckets.
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

/// The number of remembered acquisitions that were made while a lock is held.
const WITHIN: usize = 8;

/// The bit of [`Place::acquisitions`] that is set if each hold is timed, because the holds here are long enough for
/// that.
pub const TIMES_ALL: u64 = 1 << 63;

/// The location of the pair of a lock and a call site, in one line of the cache.
#[repr(C, align(64))]
pub struct Place {
    /// The lock's key; 0 if the place is free.
    pub key: AtomicU64,
    /// The call site.
    pub site: AtomicU64,
    /// The number of acquisitions of the lock here. It is next to the words that identify the place, since they are in
    /// the CPU's cache then: an uncontended lock touches nothing of the pair. The topmost bit is `TIMES_ALL`.
    pub acquisitions: AtomicU64,
    /// The pair's place.
    pub pair: AtomicU32,
    /// The lock's place.
    pub place: AtomicU32,
    /// Tags of acquisitions made while this lock was the last that was held: their orders are noted. They are here for
    /// the same reason.
    pub within: [AtomicU32; WITHIN],
}

#[cfg(any(preload, clippy))]
impl Place {
    /// Counts an acquisition of the lock here; returns the number before, with `TIMES_ALL`.
    #[inline(always)]
    pub(crate) fn count(&self) -> u64 {
        let before = self.acquisitions.load(Relaxed);
        self.acquisitions.store(before + 1, Relaxed);
        before
    }

    /// Sets whether each hold is timed from now on.
    pub(crate) fn times_all(&self, is_so: bool) {
        let before = self.acquisitions.load(Relaxed);
        let after = before & !TIMES_ALL | if is_so { TIMES_ALL } else { 0 };
        // Rare: the count of a signal's handler in between would be lost.
        if after != before {
            self.acquisitions.store(after, Relaxed);
        }
    }

    /// Returns whether the orders of an acquisition with this tag, which is not 0, are known to be noted.
    #[inline(always)]
    pub(crate) fn knows(&self, tag: u32) -> bool {
        // SAFETY: the array consists of this number of words, which only the calling thread reads and writes: so all
        // are compared at once.
        let within = unsafe { self.within.as_ptr().cast::<[u32; WITHIN]>().read() };
        within.iter().fold(false, |is_there, there| is_there | (*there == tag))
    }

    /// Remembers that the orders of this tag are noted: if there are too many, another is forgotten.
    pub(crate) fn learn(&self, tag: u32) {
        let free = self.within.iter().find(|there| there.load(Relaxed) == 0);
        free.unwrap_or(&self.within[(tag >> 8) as usize % WITHIN]).store(tag, Relaxed);
    }

    /// Forgets the acquisitions made while the lock was held: the place is another lock's.
    pub(crate) fn forget_within(&self) {
        self.within.iter().for_each(|there| there.store(0, Relaxed));
    }
}
