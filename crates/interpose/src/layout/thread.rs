//! One thread: the locks that it holds, its places of locks, and its ring of waits and holds.

use super::label::Request;
use super::pair::Place;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

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
    /// Its number among all threads that came.
    pub comer: AtomicU32,
    /// Changes with each create and join of the thread.
    pub epoch: AtomicU32,
    /// The address of the condition that it was woken from last, while it may still hold the mutex that it got back
    /// then.
    pub woken_from: AtomicU64,
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
