//! One lock of one process: its description, the words that each acquisition reads, and its kind.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// A lock, found by its key.
#[repr(C, align(64))]
pub struct Lock {
    /// Its process's place in the upper 16 bits, its address below; 0 for a free place, and [`Self::ENDED`] once it was
    /// destroyed.
    pub key: AtomicU64,
    /// The `holder` word of its last acquisition. For a mutex: the one of the last thread that released it while a
    /// thread waited.
    pub holder: AtomicU64,
    /// Ticks of its last release, or signal, while a thread waited.
    pub released: AtomicU64,
    /// The call site of its first use.
    pub first_site: AtomicU64,
    /// Its address, also once it was destroyed.
    pub address: AtomicU64,
    /// Its process's place.
    pub process: AtomicU32,
    /// A [`Kind`]: that of its first use.
    pub kind: AtomicU32,
    /// The word of the type and protocol of a mutex, as glibc keeps it.
    pub attributes: AtomicU32,
}

impl Lock {
    /// Returns whether this is the common place of all locks that a call site acquired and that found no separate one:
    /// its address is that of the call site.
    pub fn is_folded(&self) -> bool {
        let address = self.address.load(Relaxed);
        address != 0 && address == self.first_site.load(Relaxed)
    }

    /// The key of a destroyed lock.
    pub const ENDED: u64 = u64::MAX;

    /// Returns the key of a lock of a process.
    #[inline(always)]
    pub fn key_of(process: u32, address: usize) -> u64 {
        Self::key_base(process) | Self::address_part(address)
    }

    /// Returns the part that all keys of a process have in common.
    #[inline(always)]
    pub fn key_base(process: u32) -> u64 {
        (process as u64) << 48
    }

    /// Returns the address without the bits that some machines keep above it; programs have none so high on x86-64.
    #[inline(always)]
    pub fn address_part(address: usize) -> u64 {
        if cfg!(target_arch = "x86_64") { address as u64 } else { address as u64 & ((1 << 48) - 1) }
    }
}

/// The holder of a lock: the kernel's number of the thread, and the place of the pair that identifies the call site.
pub mod holder {
    /// Combines both in one word; it is not 0.
    #[inline(always)]
    pub fn of(thread: u32, pair: u32) -> u64 {
        base(thread) + pair as u64
    }

    /// Returns the word of a thread that acquired the lock at an unknown place.
    #[inline(always)]
    pub fn somewhere(thread: u32) -> u64 {
        of(thread, SOMEWHERE)
    }

    /// The place that is not of any pair.
    pub const SOMEWHERE: u32 = u32::MAX - 1;

    /// Returns the thread's part of the word.
    #[inline(always)]
    pub fn base(thread: u32) -> u64 {
        (thread as u64) << 32 | 1
    }

    /// Returns the kernel's number of the thread, and the pair's place; `None` if no thread was noted.
    pub fn parts(word: u64) -> Option<(u32, u32)> {
        Some(((word >> 32) as u32, (word as u32).checked_sub(1)?))
    }
}

/// The kind of a lock. The numbers are those in the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Kind {
    /// `pthread_mutex_t`, whatever its type and protocol, and C11's `mtx_t`.
    Mutex = 1,
    /// `pthread_rwlock_t`, as a reader.
    Read = 2,
    /// `pthread_rwlock_t`, as a writer.
    Write = 3,
    /// `pthread_spinlock_t`.
    Spin = 4,
    /// `pthread_cond_t`, and C11's `cnd_t`: the wait for a signal.
    Cond = 5,
    /// `sem_t`.
    Sem = 6,
    /// `pthread_barrier_t`.
    Barrier = 7,
    /// The call site of a broadcast of a condition; the lock itself is a [`Self::Cond`].
    Broadcast = 8,
    /// The call site of a signal to one waiter of a condition.
    Signal = 9,
}

impl Kind {
    /// Returns the kind of a number in the memory.
    pub fn of(number: u32) -> Option<Self> {
        use Kind::{Barrier, Broadcast, Cond, Mutex, Read, Sem, Signal, Spin, Write};
        let all = [Mutex, Read, Write, Spin, Cond, Sem, Barrier, Broadcast, Signal];
        all.into_iter().find(|kind| *kind as u32 == number)
    }

    /// Returns whether a pair of this kind is of a condition.
    pub fn is_of_condition(self) -> bool {
        matches!(self, Self::Cond | Self::Broadcast | Self::Signal)
    }

    /// Returns whether a holder excludes other threads, or is excluded by them: a cycle of such waits is a deadlock.
    pub fn excludes(self) -> bool {
        matches!(self, Self::Mutex | Self::Read | Self::Write | Self::Spin)
    }

    /// Returns whether the C library notes the holder in the lock. Then an acquiring thread need not note it in the
    /// lock's place, and a releasing thread does so only if a thread waits: while none does, no thread writes to the
    /// place, and its line of the cache stays with all CPUs whose threads acquire the lock.
    #[cfg(any(preload, clippy))]
    #[inline(always)]
    pub(crate) fn has_owner(self) -> bool {
        matches!(self, Self::Mutex)
    }
}

/// The words that each acquisition of a lock reads. They are separate from the rest of the lock: so one line of the
/// cache has those of several locks that are in a row.
#[repr(C)]
pub struct Hot {
    /// The number of waiters; [`Self::GONE`] once the lock was destroyed.
    pub waiters: AtomicU32,
}

impl Hot {
    /// The bit in the number of waiters that marks a destroyed lock: so a zero means that the lock exists and has no
    /// waiter.
    pub const GONE: u32 = 1 << 31;

    /// Returns whether a thread waits.
    #[cfg(any(preload, clippy))]
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiters.load(Relaxed) & !Self::GONE != 0
    }
}
