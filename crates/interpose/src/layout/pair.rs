//! What a thread did with a lock at one call site.

use crate::histogram::{BUCKETS, bucket};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Of this many holds one is timed, unless all are.
pub const SAMPLE_OF: u64 = 64;

/// A lock and a call site, as one thread (or one after another at its place) came there. Counts and histograms, in
/// ticks.
#[repr(C, align(64))]
pub struct Pair {
    /// The address that the call returns to; 0 while the place is free. Written last.
    pub site: AtomicU64,
    /// The lock's place.
    pub lock: AtomicU32,
    /// What it was taken as: a [`Kind`](super::Kind).
    pub kind: AtomicU32,
    /// Times that it was taken.
    pub acquisitions: AtomicU64,
    /// Of these, those that found it taken.
    pub contended: AtomicU64,
    /// Tries, and waits with an end, that did not get it.
    pub timeouts: AtomicU64,
    /// Time waited.
    pub wait_ticks: AtomicU64,
    /// The longest wait.
    pub wait_most: AtomicU64,
    /// Holds that were timed.
    pub holds: AtomicU64,
    /// Time of these.
    pub hold_ticks: AtomicU64,
    /// The longest of these.
    pub hold_most: AtomicU64,
    /// Waits, by [`bucket`].
    pub wait_buckets: [AtomicU32; BUCKETS],
    /// Timed holds, by [`bucket`].
    pub hold_buckets: [AtomicU32; BUCKETS],
}

/// Adds to what only this thread writes.
#[inline(always)]
pub fn add(counter: &AtomicU64, more: u64) -> u64 {
    let sum = counter.load(Relaxed).wrapping_add(more);
    counter.store(sum, Relaxed);
    sum
}

impl Pair {
    /// Counts a wait.
    pub fn waited(&self, ticks: u64) {
        add(&self.contended, 1);
        counted(&self.wait_ticks, &self.wait_most, &self.wait_buckets, ticks);
    }

    /// Counts a hold.
    #[inline(always)]
    pub fn held(&self, ticks: u64) {
        add(&self.holds, 1);
        counted(&self.hold_ticks, &self.hold_most, &self.hold_buckets, ticks);
    }
}

#[inline(always)]
fn counted(sum: &AtomicU64, most: &AtomicU64, buckets: &[AtomicU32; BUCKETS], ticks: u64) {
    add(sum, ticks);
    if ticks > most.load(Relaxed) {
        most.store(ticks, Relaxed);
    }
    let count = &buckets[bucket(ticks)];
    count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
}
