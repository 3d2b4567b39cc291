//! One thread: the locks that it holds, its places of locks, its ring of waits and holds, and the request that it works
//! for, with the sums over all requests of a name ([`Label`]).

#[cfg(any(preload, clippy))]
use super::lock::Kind;
use super::lock::{Buckets, Place};
#[cfg(any(preload, clippy))]
use crate::histogram::bucket;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Locks that a thread can be seen to hold at once.
pub const HELD: usize = 48;
/// Waits and holds that are kept until they are read.
pub const RING: usize = 4096;
/// Places for locks at call sites.
pub const PLACES: usize = 8192;
/// Places for the locks that come when these are full. Most threads never need them, and so they take no memory.
pub const MORE_PLACES: usize = 4096;
/// A lock that a thread holds.
#[repr(C)]
pub struct Held {
    /// Its address.
    pub lock: AtomicU64,
    /// Ticks since when the lock is held, if that is timed; else 0.
    pub since: AtomicU64,
    /// Ticks when it was acquired, if a thread waited for it by then; else 0.
    pub wanted: AtomicU64,
    /// The place of its pair.
    pub pair: AtomicU32,
    /// Its own place.
    pub place: AtomicU32,
    /// The distance behind the thread's memory of the [`Place`] by which the lock was found, in places.
    pub found: AtomicU32,
    /// A hash of the locks that were held when it was acquired, of the call site, and of the thread's `epoch`.
    pub context: AtomicU32,
}

#[cfg(any(preload, clippy))]
impl Held {
    /// Returns the context of a lock that is acquired by this pair after one with the context `before`.
    #[inline(always)]
    pub(crate) fn context_after(before: u32, pair: u32) -> u32 {
        (before.rotate_left(5) ^ pair).wrapping_mul(0x9e37_79b1)
    }
}

/// The last lock that a thread acquired while it held nothing and no thread waited, and the way in which that is
/// counted: if the thread does the same again, it need not search. Whenever this is of a lock, so is the first of
/// [`Thread::held`].
#[repr(C)]
pub struct Last {
    /// The lock's address; 0 for none.
    pub lock: AtomicU64,
    /// The call site.
    pub site: AtomicU64,
    /// The word that says that this thread acquired it there.
    pub holder: AtomicU64,
    /// The distance behind the thread's memory of its [`Place`], in places.
    pub found: AtomicU32,
    /// The lock's place.
    pub lock_place: AtomicU32,
}

#[cfg(any(preload, clippy))]
impl Last {
    /// Returns whether it is this lock.
    #[inline(always)]
    pub(crate) fn is(&self, lock: usize) -> bool {
        own(&self.lock) == lock as u64
    }

    /// Returns whether the call came from this site.
    #[inline(always)]
    pub(crate) fn is_from(&self, site: usize) -> bool {
        own(&self.site) == site as u64
    }
}

/// Reads a word that only the calling thread writes: the compiler may compare it in memory, which it does not with
/// atomics.
#[cfg(any(preload, clippy))]
#[inline(always)]
fn own<T: Copy>(word: &impl Own<T>) -> T {
    // SAFETY: the pointer is to a whole word, which no other thread writes; concurrent reads by other threads are not a
    // race.
    unsafe { word.pointer().read() }
}

/// A word of an atomic.
#[cfg(any(preload, clippy))]
trait Own<T> {
    fn pointer(&self) -> *mut T;
}

#[cfg(any(preload, clippy))]
impl Own<u32> for AtomicU32 {
    #[inline(always)]
    fn pointer(&self) -> *mut u32 {
        self.as_ptr()
    }
}

#[cfg(any(preload, clippy))]
impl Own<u64> for AtomicU64 {
    #[inline(always)]
    fn pointer(&self) -> *mut u64 {
        self.as_ptr()
    }
}

/// A thread, or several in succession. The words that each lock touches come first, in one line of the cache.
#[repr(C, align(128))]
pub struct Thread {
    /// The kernel's number of the thread; 0 while the place is free.
    pub tid: AtomicU32,
    /// Its process's place.
    pub process: AtomicU32,
    /// The number of locks that it holds, of which those above [`HELD`] are not noted; with [`Self::BUSY`] and
    /// [`Self::ALONE`].
    pub state: AtomicU32,
    /// The place of the pair that it waits for, plus 1; 0 if it does not wait.
    pub waiting: AtomicU32,
    /// The lock that it acquired last.
    pub last: Last,
    /// The process's part of the keys of its locks, as [`Lock::key_of`](super::Lock::key_of) makes them.
    pub key_base: AtomicU64,
    /// The word that says that it has a lock, without the place of the pair: [`holder`](super::holder).
    pub holder_base: AtomicU64,
    /// The locks that it holds, the first acquired first.
    pub held: [Held; HELD],
    /// Ticks since when it waits.
    pub waiting_since: AtomicU64,
    /// 1 if a wait for a lock ends at a time that the program sets.
    pub is_timed: AtomicU32,
    /// At the level of confirming, the slot of the lock that it is about to acquire while it holds others, plus 1.
    pub wants: AtomicU32,
    /// The place of the pair at which it tried in vain to acquire a lock the last time, plus 1; 0 once it acquired a lock
    /// after that. An acquisition on the fastest way leaves it, and sets [`Self::last`].
    pub polled: AtomicU32,
    /// The number of these tries in succession.
    pub tries: AtomicU32,
    /// Its number among all threads that came.
    pub comer: AtomicU32,
    /// Changes with each create and join of the thread.
    pub epoch: AtomicU32,
    /// The address of the condition that it was woken from last, while it may still hold the mutex that it got back
    /// then.
    pub woken_from: AtomicU64,
    /// The place, plus 1, of the pair at which it was woken from a condition last, until it signals that condition or waits for
    /// one: if the condition is that of a lock, it has the lock.
    pub through: AtomicU32,
    /// Ticks since then.
    pub through_since: AtomicU64,
    /// Ticks when it was first seen.
    pub started: AtomicU64,
    /// Ticks that earlier threads at this place lived.
    pub lived: AtomicU64,
    /// The place after it in the chain of ended threads, plus 1.
    pub next: AtomicU32,
    /// The number of places after its own that are used.
    pub more_places_used: AtomicU32,
    /// The number of noted waits and holds.
    pub head: AtomicU64,
    /// The number of read waits and holds, written by the reader.
    pub tail: AtomicU64,
    /// The pairs that it has taken and not used yet, from the first to behind the last.
    pub pairs: [AtomicU32; 2],
    /// The number of pairs that it used.
    pub pairs_used: AtomicU32,
    /// The number of waits and holds that found the ring full.
    pub lost: AtomicU64,
    /// The request that it works for.
    pub request: Request,
    /// The places of locks, by a number made of the lock and the call site.
    pub places: [Place; PLACES],
    /// Waits, and holds that others waited for.
    pub ring: [Event; RING],
}

impl Thread {
    /// The bit of the state that is set while the thread notes something.
    pub const BUSY: u32 = 1 << 30;
    /// The bit of the state that says of the first acquired lock that no thread waited for it when it was acquired, and
    /// that its hold is not timed: if it is the only one, nothing is to be noted when it is released.
    pub const ALONE: u32 = 1 << 29;

    /// Returns the number of locks that it holds.
    pub fn depth(&self) -> u32 {
        self.state.load(Relaxed) & !(Self::BUSY | Self::ALONE)
    }

    /// Returns whether this is all of its state. Only for the thread itself.
    #[cfg(any(preload, clippy))]
    #[inline(always)]
    pub(crate) fn is_at(&self, state: u32) -> bool {
        own(&self.state) == state
    }

    /// Sets the number of locks that it holds.
    #[cfg(any(preload, clippy))]
    pub(crate) fn set_depth(&self, depth: u32) {
        self.state.store(self.state.load(Relaxed) & Self::BUSY | depth, Relaxed);
    }

    /// Sets the number above 0, where the first acquired lock stays the first, and as it was noted.
    #[cfg(any(preload, clippy))]
    pub(crate) fn set_depth_above_first(&self, depth: u32) {
        self.state.store(self.state.load(Relaxed) & (Self::BUSY | Self::ALONE) | depth, Relaxed);
    }

    /// Returns whether it is noting something.
    #[cfg(any(preload, clippy))]
    pub(crate) fn is_busy(&self) -> bool {
        self.state.load(Relaxed) & Self::BUSY != 0
    }

    /// Notes something: a signal's handler that comes in between does not note anything.
    #[cfg(any(preload, clippy))]
    pub(crate) fn busy<T>(&self, work: impl FnOnce() -> T) -> T {
        // In one instruction each: a handler that comes between a load and a store changes the depth in the same word.
        self.state.fetch_or(Self::BUSY, Relaxed);
        let result = work();
        self.state.fetch_and(!Self::BUSY, Relaxed);
        result
    }
}

#[cfg(any(preload, clippy))]
impl Thread {
    /// Returns the context before the lock that it holds at this depth.
    #[inline(always)]
    pub(crate) fn context_before(&self, depth: usize) -> u32 {
        match depth.checked_sub(1) {
            None => self.epoch.load(Relaxed),
            Some(last) => self.held[last].context.load(Relaxed),
        }
    }

    /// Computes the contexts of the locks at this depth and above again.
    pub(crate) fn renew_contexts(&self, from: usize) {
        for depth in from..(self.depth() as usize).min(HELD) {
            let held = &self.held[depth];
            held.context.store(Held::context_after(self.context_before(depth), held.pair.load(Relaxed)), Relaxed);
        }
    }

    /// Begins a new epoch: its later acquisitions come after a create or a join. Only for the thread itself.
    pub(crate) fn begin_epoch(&self) {
        self.busy(|| {
            self.epoch.store(Held::context_after(self.epoch.load(Relaxed), 1), Relaxed);
            // The lock that it acquired last has to be noted again.
            self.last.lock.store(0, Relaxed);
            self.polled.store(0, Relaxed);
            self.renew_contexts(0);
        });
    }
}

/// A wait that is over; or a hold, which has its times, thread and pair only.
#[repr(C)]
pub struct Event {
    /// Ticks when it began; 0 for a hold that began before any thread waited.
    pub began: AtomicU64,
    /// Ticks when it was over.
    pub ended: AtomicU64,
    /// The holder of the lock when it began.
    pub holder: AtomicU64,
    /// The last holder of the lock when it was over; for a signal, the thread that gave it.
    pub releaser: AtomicU64,
    /// Ticks of the release, if it was noted.
    pub released: AtomicU64,
    /// The kernel's number of the waiting thread.
    pub thread: AtomicU32,
    /// The place of the pair, which identifies the lock and the call site; plus 1. The uppermost bits are
    /// [`Self::IN_VAIN`] and [`Self::HOLD`].
    pub pair: AtomicU32,
    /// The place of the label of the request in which it waited, plus 1; 0 for none.
    pub label: AtomicU32,
}

impl Event {
    /// The bit of a wait that ended without the lock.
    pub const IN_VAIN: u32 = 1 << 31;
    /// The bit of a hold.
    pub const HOLD: u32 = 1 << 30;
}

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
