//! One lock of one process: what is known of it, what is looked at whenever it is taken, and its kind.

#[cfg(any(preload, clippy))]
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// A lock, found by its key.
#[repr(C, align(64))]
pub struct Lock {
    /// Its process's place in the upper 16 bits, its address below; 0 for a free place, and [`Self::ENDED`] once it was
    /// destroyed.
    pub key: AtomicU64,
    /// As who has it last took it: `holder`. For a mutex: as who released it last while somebody waited had taken it.
    pub holder: AtomicU64,
    /// Ticks of its last release, or signal, while somebody waited.
    pub released: AtomicU64,
    /// Where it was first used.
    pub first_site: AtomicU64,
    /// Its address, also once it was destroyed.
    pub address: AtomicU64,
    /// Its process's place.
    pub process: AtomicU32,
    /// A [`Kind`]: the first that it was used as.
    pub kind: AtomicU32,
    /// For a mutex: the word of its type and protocol as glibc keeps it.
    pub attributes: AtomicU32,
}

impl Lock {
    /// The key of what was destroyed.
    pub const ENDED: u64 = u64::MAX;

    /// The key of a lock of a process.
    #[inline(always)]
    pub fn key_of(process: u32, address: usize) -> u64 {
        Self::key_base(process) | Self::address_part(address)
    }

    /// What all keys of a process have in common.
    #[inline(always)]
    pub fn key_base(process: u32) -> u64 {
        (process as u64) << 48
    }

    /// The address without what some machines keep above it; programs have none so high on x86-64.
    #[inline(always)]
    pub fn address_part(address: usize) -> u64 {
        if cfg!(target_arch = "x86_64") { address as u64 } else { address as u64 & ((1 << 48) - 1) }
    }
}

/// Who took a lock: the kernel's number of the thread, and the place of the pair that says where.
pub mod holder {
    /// Both in one word; it is not 0.
    #[inline(always)]
    pub fn of(thread: u32, pair: u32) -> u64 {
        base(thread) + pair as u64
    }

    /// A thread that took it at a place that is not known.
    #[inline(always)]
    pub fn somewhere(thread: u32) -> u64 {
        of(thread, SOMEWHERE)
    }

    /// The place of no pair.
    pub const SOMEWHERE: u32 = u32::MAX - 1;

    /// What is the thread's in it.
    #[inline(always)]
    pub fn base(thread: u32) -> u64 {
        (thread as u64) << 32 | 1
    }

    /// The kernel's number of the thread, and the pair's place; `None` where nobody was noted.
    pub fn parts(word: u64) -> Option<(u32, u32)> {
        Some(((word >> 32) as u32, (word as u32).checked_sub(1)?))
    }
}

/// What a lock is. The numbers are those in the memory.
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
    /// That of a number in the memory.
    pub fn of(number: u32) -> Option<Self> {
        use Kind::{Barrier, Broadcast, Cond, Mutex, Read, Sem, Signal, Spin, Write};
        let all = [Mutex, Read, Write, Spin, Cond, Sem, Barrier, Broadcast, Signal];
        all.into_iter().find(|kind| *kind as u32 == number)
    }

    /// Whether a pair of this kind is of a condition.
    pub fn is_of_condition(self) -> bool {
        matches!(self, Self::Cond | Self::Broadcast | Self::Signal)
    }

    /// Whether who has it keeps others out, or is kept out by them: a cycle of such waits is a deadlock.
    pub fn excludes(self) -> bool {
        matches!(self, Self::Mutex | Self::Read | Self::Write | Self::Spin)
    }

    /// Whether the C library notes in it who has it. Then who takes it need not say so in its place, and who releases
    /// it does if somebody waits: while nobody does, nobody writes to the place, and its line of the cache stays with
    /// all CPUs whose threads take it.
    #[cfg(any(preload, clippy))]
    #[inline(always)]
    pub(crate) fn has_owner(self) -> bool {
        matches!(self, Self::Mutex)
    }
}

/// What is looked at of a lock whenever it is taken. It lies apart from the rest of the lock: so one line of the cache has those of several that lie in a row.
#[repr(C)]
pub struct Hot {
    /// How many wait; [`Self::GONE`] once the lock was destroyed.
    pub waiters: AtomicU32,
}

impl Hot {
    /// The bit in the number of those who wait for what was destroyed: so a zero says that it is there and free.
    pub const GONE: u32 = 1 << 31;

    /// Whether somebody waits.
    #[cfg(any(preload, clippy))]
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiters.load(Relaxed) & !Self::GONE != 0
    }
}
