//! One lock of one process.

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
    /// A [`Kind`](super::Kind): the first that it was used as.
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
