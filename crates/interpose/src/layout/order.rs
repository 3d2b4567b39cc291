//! The orders in which locks are acquired, each with its context: the other locks held, the thread, and the create and
//! join calls before it.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Locks held besides the two of an order that are kept: the more are known, the more cycles can be excluded.
pub const GATES: usize = 8;
/// Orders of the same two locks that are kept, one for each thread, context and pair of call sites.
#[cfg(any(preload, clippy))]
pub const ORDERS_OF_EDGE: u32 = 4096;

/// Two locks, of which one was acquired while the other was held, with the data of the first such acquisition.
///
/// Its key is in a separate table: the slot of the lock that was held, plus 1, in the upper half; of the one that was
/// acquired, plus 1, in the lower; 0 for a free slot.
#[repr(C)]
pub struct Edge {
    /// The call site that acquired the lock that was held.
    pub held_site: AtomicU64,
    /// The call site that acquired the other.
    pub taken_site: AtomicU64,
    /// The kernel's number of the thread.
    pub thread: AtomicU32,
    /// The number of its orders that were seen, up to a little above `ORDERS_OF_EDGE`.
    pub orders: AtomicU32,
    /// 1 if an order found no room: the contexts of this edge are not all known.
    pub is_partial: AtomicU32,
}

impl Edge {
    /// Returns the key of these two slots.
    pub fn key_of(held: u32, taken: u32) -> u64 {
        (held as u64 + 1) << 32 | (taken as u64 + 1)
    }

    /// Returns the slots of a key.
    pub fn places(key: u64) -> Option<(usize, usize)> {
        Some((((key >> 32) as usize).checked_sub(1)?, (key as u32 as usize).checked_sub(1)?))
    }
}

/// An edge in one context. Its key is in a separate table, and is a hash of all that distinguishes one context from
/// another.
#[repr(C)]
pub struct Order {
    /// The key of the edge.
    pub edge: AtomicU64,
    /// The call site that acquired the lock that was held.
    pub held_site: AtomicU64,
    /// The call site that acquired the other.
    pub taken_site: AtomicU64,
    /// The kernel's number of the thread.
    pub thread: AtomicU32,
    /// The number of the thread among all that came: the kernel reuses its own.
    pub comer: AtomicU32,
    /// The number of [`Kinship`] entries before it.
    pub position: AtomicU32,
    /// [`Self::WRITTEN`], written last, and the other bits.
    pub flags: AtomicU32,
    /// The other locks held: the slot plus 1, times 2, plus 1 if held as a reader; 0 behind the last.
    pub gates: [AtomicU32; GATES],
}

impl Order {
    /// The flag of an order that is completely written.
    pub const WRITTEN: u32 = 1;
    /// The flag of an order whose held lock was held as a reader.
    pub const HELD_SHARED: u32 = 2;
    /// The flag of an order whose other lock was acquired as a reader.
    pub const TAKEN_SHARED: u32 = 4;
    /// The flag of an order whose wait for the other lock ends at a time that the program sets.
    pub const TIMED: u32 = 8;
}

/// A create, a join, or the first lock call of a thread. The order of the entries is one in which they can have begun.
#[repr(C)]
pub struct Kinship {
    /// [`Self::CREATED`], [`Self::JOINED`] or [`Self::CAME`], written last; 0 before.
    pub kind: AtomicU32,
    /// The slot of the process.
    pub process: AtomicU32,
    /// The `pthread_t` of the calling thread.
    pub thread: AtomicU64,
    /// The `pthread_t` of the thread that was created or joined; the number of the one that came.
    pub other: AtomicU64,
    /// The number of entries when the call was over.
    pub end: AtomicU32,
}

impl Kinship {
    /// The kind of a `pthread_create`.
    pub const CREATED: u32 = 1;
    /// The kind of a `pthread_join`.
    pub const JOINED: u32 = 2;
    /// The kind of a first lock call.
    pub const CAME: u32 = 3;
}

/// Targets of a run that confirms a cycle.
pub const TARGETS: usize = 64;

/// A run that holds threads between two locks, to see whether a cycle is reached. All is written by the reader, except
/// the counts.
#[repr(C, align(64))]
pub struct Confirm {
    /// Nanoseconds that all threads together can still be held.
    pub budget_ns: AtomicU64,
    /// The number of targets.
    pub count: AtomicU32,
    /// 1 if some threads closed a cycle of locks held and wanted.
    pub has_met: AtomicU32,
    /// The call sites at which threads are held.
    pub targets: [Target; TARGETS],
}

/// A call site in a process, with a lock held from another.
#[repr(C)]
pub struct Target {
    /// The slot of the process.
    pub process: AtomicU32,
    /// The number of arrivals so far.
    pub arrivals: AtomicU32,
    /// The number of arrivals to let pass.
    pub skip: AtomicU32,
    /// The call site that acquired the lock that is held.
    pub held_site: AtomicU64,
    /// The call site that is about to acquire the other.
    pub taken_site: AtomicU64,
    /// Nanoseconds that a thread is held here at most.
    pub pause_ns: AtomicU64,
}
