//! One thread: the locks that it holds, where it finds them, and its ring of waits and holds.

use super::pair::Place;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Locks that a thread can be seen to hold at once.
pub const HELD: usize = 48;
/// Waits and holds that are kept until they are read.
pub const RING: usize = 4096;
/// Places for locks at call sites.
pub const PLACES: usize = 8192;
/// Places for those that come when these are full. Most threads never come to them, and so they take no memory.
pub const MORE_PLACES: usize = 4096;
/// A lock that is held.
#[repr(C)]
pub struct Held {
    /// Its address.
    pub lock: AtomicU64,
    /// Ticks since when, if that is timed; else 0.
    pub since: AtomicU64,
    /// Ticks when it was taken, if somebody waited for it by then; else 0.
    pub wanted: AtomicU64,
    /// The place of its pair.
    pub pair: AtomicU32,
    /// Its own place.
    pub place: AtomicU32,
    /// How far behind the thread's memory the [`Place`] lies that it was found by, in its sizes.
    pub found: AtomicU32,
    /// A hash of the locks that were held when it was acquired, of the call site, and of the thread's `epoch`.
    pub context: AtomicU32,
}

/// What a thread took last while it held nothing and nobody waited, and as what that is counted: who does the same
/// again need look for nothing. Whenever this is of a lock, so is the first of [`Thread::held`].
#[repr(C)]
pub struct Last {
    /// The lock's address; 0 for none.
    pub lock: AtomicU64,
    /// The call site.
    pub site: AtomicU64,
    /// What says that this thread took it there.
    pub holder: AtomicU64,
    /// How far behind the thread's memory its [`Place`] lies, in its sizes.
    pub found: AtomicU32,
    /// The lock's place.
    pub lock_place: AtomicU32,
}

#[cfg(any(preload, clippy))]
impl Last {
    /// Whether it is this lock.
    #[inline(always)]
    pub(crate) fn is(&self, lock: usize) -> bool {
        own(&self.lock) == lock as u64
    }

    /// Whether it was called from there.
    #[inline(always)]
    pub(crate) fn is_from(&self, site: usize) -> bool {
        own(&self.site) == site as u64
    }
}

/// What only the calling thread writes: the compiler may compare it where it lies, which it does not with atomics.
#[cfg(any(preload, clippy))]
#[inline(always)]
fn own<T: Copy>(word: &impl Own<T>) -> T {
    // SAFETY: it points to a whole word, which nobody else writes; that others read it meanwhile is no race.
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

/// A thread, or several one after another. What is touched with each lock comes first, in one line of the cache.
#[repr(C, align(128))]
pub struct Thread {
    /// The kernel's number of it; 0 while nobody is here.
    pub tid: AtomicU32,
    /// Its process's place.
    pub process: AtomicU32,
    /// How many locks it holds, of which those above [`HELD`] are not noted; with [`Self::BUSY`] and [`Self::ALONE`].
    pub state: AtomicU32,
    /// The place of the pair that it waits for, plus 1; 0 if it does not wait.
    pub waiting: AtomicU32,
    /// What it took last.
    pub last: Last,
    /// The process's part of the keys of its locks, as [`Lock::key_of`](super::Lock::key_of) makes them.
    pub key_base: AtomicU64,
    /// What says that it has a lock, but for the place of the pair: [`holder`](super::holder).
    pub holder_base: AtomicU64,
    /// The locks that it holds, the first taken first.
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
    /// The address of the condition that it was woken from last, while it may still hold the mutex that it got back then.
    pub woken_from: AtomicU64,
    /// Ticks when it was first seen.
    pub started: AtomicU64,
    /// Ticks that those before it at this place lived.
    pub lived: AtomicU64,
    /// The place after it in the chain of ended threads, plus 1.
    pub next: AtomicU32,
    /// How many of the places that come after its own are used.
    pub more_places_used: AtomicU32,
    /// Waits and holds that were noted, and those that were read.
    pub head: AtomicU64,
    /// Written by the reader.
    pub tail: AtomicU64,
    /// The pairs that it has taken and not used yet, from the first to behind the last.
    pub pairs: [AtomicU32; 2],
    /// How many it used.
    pub pairs_used: AtomicU32,
    /// Those that found the ring full.
    pub lost: AtomicU64,
    /// By a number made of the lock and the call site.
    pub places: [Place; PLACES],
    /// Waits, and holds that others waited for.
    pub ring: [Event; RING],
}

impl Thread {
    /// The bit of the state that says that it is noting something.
    pub const BUSY: u32 = 1 << 30;
    /// The bit of the state that says of the lock that it took first, that nobody waited for it when it was taken, and
    /// that its hold is not timed: if it is the only one, nothing is to be noted when it is released.
    pub const ALONE: u32 = 1 << 29;

    /// How many locks it holds.
    pub fn depth(&self) -> u32 {
        self.state.load(Relaxed) & !(Self::BUSY | Self::ALONE)
    }

    /// Whether that is all of its state. Only for the thread itself.
    #[cfg(any(preload, clippy))]
    #[inline(always)]
    pub(crate) fn is_at(&self, state: u32) -> bool {
        own(&self.state) == state
    }

    /// Sets how many locks it holds.
    #[cfg(any(preload, clippy))]
    pub(crate) fn set_depth(&self, depth: u32) {
        self.state.store(self.state.load(Relaxed) & Self::BUSY | depth, Relaxed);
    }

    /// The same above 0, where the lock that it took first stays the first, and as it was noted.
    #[cfg(any(preload, clippy))]
    pub(crate) fn set_depth_above_first(&self, depth: u32) {
        self.state.store(self.state.load(Relaxed) & (Self::BUSY | Self::ALONE) | depth, Relaxed);
    }

    /// Whether it is noting something.
    #[cfg(any(preload, clippy))]
    pub(crate) fn is_busy(&self) -> bool {
        self.state.load(Relaxed) & Self::BUSY != 0
    }

    /// Notes something: a signal's handler that comes meanwhile keeps away.
    #[cfg(any(preload, clippy))]
    pub(crate) fn busy<T>(&self, work: impl FnOnce() -> T) -> T {
        // In one instruction each: a handler that comes between a load and a store changes the depth beside it.
        self.state.fetch_or(Self::BUSY, Relaxed);
        let result = work();
        self.state.fetch_and(!Self::BUSY, Relaxed);
        result
    }
}

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
