//! One lock of one process: its description, the words that each acquisition reads, and its kind; the record of one
//! thread's calls for it at one call site ([`Pair`]), and the way to find that ([`Place`]).

use crate::histogram::{BUCKETS, bucket};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// A lock, found by its key.
#[repr(C, align(64))]
pub struct Lock {
    /// Its process's place in the upper 16 bits, its address below; [`Self::SHARED`] and a hash for a lock that processes
    /// share; 0 for a free place, and [`Self::ENDED`] once it was destroyed.
    pub key: AtomicU64,
    /// The `holder` word of its last acquisition. For a mutex: the one of the last thread that released it while a
    /// thread waited.
    pub holder: AtomicU64,
    /// Ticks of its last release, or signal, while a thread waited.
    pub released: AtomicU64,
    /// The call site that names it: that with the lowest address, so that it is the same in each run.
    pub first_site: AtomicU64,
    /// Its address in that process, also once it was destroyed.
    pub address: AtomicU64,
    /// The place of the process that used it first.
    pub process: AtomicU32,
    /// A [`Kind`]: that of its first use.
    pub kind: AtomicU32,
    /// The word of the type and protocol of a mutex, as glibc keeps it.
    pub attributes: AtomicU32,
    /// The place, plus 1, of the mutex that the last waiter of a condition released.
    pub guard: AtomicU32,
    /// Ticks of the last signal to a waiter of one of a mutex's conditions.
    pub signalled: AtomicU64,
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

    /// The upper part of the key of a lock that processes share: no process has this place. The lower part is a hash of
    /// the file that the lock is in, and of its place there.
    pub const SHARED: u32 = 0xfffe;

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

/// The number of holds of which one is timed, unless all are.
pub const SAMPLE_OF: u64 = 64;
/// After a hold of this many ticks (1 to 2 us on most machines) at a place, each hold there is timed, for as long as
/// they take as much in the mean: to read the clock twice is some per cent of that at most.
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
    /// The [`Kind`] that the lock was acquired as.
    pub kind: AtomicU32,
    /// The number of acquisitions, once they are no longer counted here: [`Region::acquisitions`](super::Region).
    pub acquisitions: AtomicU64,
    /// The location of that count: the number of the thread's [`Place`] among all, plus 1.
    pub counted_at: AtomicU32,
    /// The place of the process that the call site is in: processes can share the lock.
    pub process: AtomicU32,
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

    /// Returns the place, plus 1, of the mutex that is released here, where a condition is waited for.
    pub fn guard(&self) -> &AtomicU64 {
        &self.holds.ticks
    }

    /// Returns the number of signals, at a call site that signals.
    pub fn signals(&self) -> &AtomicU64 {
        &self.holds.count
    }

    /// Returns the number of those signals by threads that had been woken from the condition themselves, and since when no other
    /// thread had signalled it: they pass it on, as one passes a lock on.
    pub fn passed(&self) -> &AtomicU64 {
        &self.holds.ticks
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
    /// their sum in ticks. At a call site that signals, see [`Self::handed`].
    pub every: [AtomicU64; 2],
    /// The time in ticks of the waits that ended without the lock.
    pub vain_ticks: AtomicU64,
}

impl Histograms {
    /// Returns the number of signals by threads that had been woken from another condition of the same mutex, and since when
    /// no thread had signalled any of them: where each thread has a condition, they hand on what that mutex guards.
    pub fn handed(&self) -> &AtomicU64 {
        &self.every[0]
    }
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
