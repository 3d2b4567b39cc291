//! Labels: the names that a program gives to the requests of its threads, and sums over the requests of each name.

#[cfg(any(preload, clippy))]
use super::lock::Kind;
use super::pair::Buckets;
#[cfg(any(preload, clippy))]
use crate::histogram::bucket;
#[cfg(any(preload, clippy))]
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Names that have separate sums. The requests of all further names are added up in one more place, the last.
pub const LABELS: usize = 64;
/// Bytes of a name that are kept, and that distinguish it from other names.
pub const LABEL_BYTES: usize = 96;
/// Places for the sums of one label. Threads write to different ones, so that they seldom share a line of the cache.
pub const SHARDS: usize = 8;

/// A label, found by its key.
#[repr(C, align(64))]
pub struct Label {
    /// A hash of the name; 0 for a free place.
    pub key: AtomicU64,
    /// The number of bytes of the name, once it is written; with [`Self::CUT`].
    pub length: AtomicU32,
    /// The name.
    pub name: [AtomicU8; LABEL_BYTES],
    /// The sums of its requests, each by some of the threads.
    pub sums: [Requests; SHARDS],
}

impl Label {
    /// The bit of the length that marks a name with more bytes than are kept.
    pub const CUT: u32 = 1 << 31;
}

/// Sums over requests. Times are in ticks.
#[repr(C, align(64))]
pub struct Requests {
    /// The number of requests that ended.
    pub count: AtomicU64,
    /// The number of those that waited for a lock.
    pub waited: AtomicU64,
    /// Their time.
    pub ticks: AtomicU64,
    /// Their time in waits for locks.
    pub lock_ticks: AtomicU64,
    /// Their time in waits for conditions, semaphores and barriers.
    pub signal_ticks: AtomicU64,
    /// The longest request.
    pub most: AtomicU64,
    /// The longest wait for locks of one request.
    pub most_waited: AtomicU64,
    /// The requests by their time.
    pub times: Buckets,
    /// The requests that waited for a lock, by the time that they waited.
    pub waits: Buckets,
    /// The requests by their time outside of waits for locks.
    pub rests: Buckets,
}

#[cfg(any(preload, clippy))]
impl Requests {
    /// Adds a request. Several threads may do so at once.
    pub(crate) fn note(&self, ticks: u64, lock_ticks: u64, signal_ticks: u64) {
        self.ticks.fetch_add(ticks, Relaxed);
        self.most.fetch_max(ticks, Relaxed);
        self.times[bucket(ticks)].fetch_add(1, Relaxed);
        self.rests[bucket(ticks.saturating_sub(lock_ticks))].fetch_add(1, Relaxed);
        if lock_ticks > 0 {
            self.waited.fetch_add(1, Relaxed);
            self.lock_ticks.fetch_add(lock_ticks, Relaxed);
            self.most_waited.fetch_max(lock_ticks, Relaxed);
            self.waits[bucket(lock_ticks)].fetch_add(1, Relaxed);
        }
        if signal_ticks > 0 {
            self.signal_ticks.fetch_add(signal_ticks, Relaxed);
        }
        self.count.fetch_add(1, Relaxed);
    }
}

/// The request that a thread works for. Only the thread itself writes to it.
#[repr(C)]
pub struct Request {
    /// The place of its label, plus 1; 0 for none.
    pub label: AtomicU32,
    /// Ticks when it began.
    pub began: AtomicU64,
    /// Ticks that it waited for locks.
    pub lock_ticks: AtomicU64,
    /// Ticks that it waited for conditions, semaphores and barriers.
    pub signal_ticks: AtomicU64,
}

#[cfg(any(preload, clippy))]
impl Request {
    /// Adds a wait for an object of this kind, if the thread works for a request.
    pub(crate) fn waited(&self, kind: u32, ticks: u64) {
        if self.label.load(Relaxed) == 0 {
            return;
        }
        let is_lock = Kind::of(kind).is_some_and(Kind::excludes);
        let sum = if is_lock { &self.lock_ticks } else { &self.signal_ticks };
        sum.store(sum.load(Relaxed) + ticks, Relaxed);
    }
}
