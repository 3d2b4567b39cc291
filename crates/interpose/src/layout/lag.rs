//! The lag of threads behind real time, in a run that predicts the gain of shorter sections.

#[cfg(any(preload, clippy))]
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// The sections of one lock that a thread can be in at once, one within another.
pub const SECTIONS: usize = 8;
/// Threads that were created and not joined yet, by a number made of their names.
pub const KIN: usize = 4096;
/// The unit of [`WhatIf::share`].
pub const SHARE_ONE: u64 = 1024;

/// The question, and its answer. Times are in ticks.
#[repr(C, align(64))]
pub struct WhatIf {
    /// The part by which the sections are shorter, in parts of [`SHARE_ONE`].
    pub share: AtomicU32,
    /// 1 once the first process's end was noted.
    pub has_exited: AtomicU32,
    /// Nanoseconds of a tick, times 2 to the power of 32.
    pub ns_per_tick: AtomicU64,
    /// The largest lag of a thread by its sections: the other threads are to be paused for the difference.
    pub most: AtomicU64,
    /// The lag of the thread with which the first process ended.
    pub exit_lag: AtomicU64,
    /// Handoffs on the way to that end: [`Mark::handoffs`].
    pub exit_handoffs: AtomicU64,
    /// Sections that ended.
    pub sections: AtomicU64,
    /// The ticks of these sections.
    pub section_ticks: AtomicU64,
    /// The ticks of the pauses that were waited for at work.
    pub spun_ticks: AtomicU64,
    /// 1 if a section was in a process other than the first, or the one that it became.
    pub elsewhere: AtomicU32,
}

impl WhatIf {
    /// Converts ticks to nanoseconds.
    #[cfg(any(preload, clippy))]
    pub(crate) fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.ns_per_tick.load(Relaxed))) >> 32) as u64
    }

    /// Converts nanoseconds to ticks.
    #[cfg(any(preload, clippy))]
    pub(crate) fn ticks(&self, ns: u64) -> u64 {
        ((u128::from(ns) << 32) / u128::from(self.ns_per_tick.load(Relaxed).max(1))) as u64
    }
}

/// An event that lets others go on: a release, a signal, a thread's end.
#[repr(C)]
pub struct Mark {
    /// The time of the event; 0 if there was none.
    pub at: AtomicU64,
    /// The lag of the thread that caused it.
    pub lag: AtomicU64,
    /// The time between a release, signal or end and the moment when the waiter ran again, or another thread acquired
    /// the lock before it, summed over the way to this event. Shorter sections may have fewer waits, and so a
    /// prediction may be too long by this sum.
    pub handoffs: AtomicU64,
    /// The virtual time of the acquisition that the event ended, for a lock.
    pub taken: AtomicU64,
    /// The virtual time at which the lock became free before that acquisition, for a lock.
    pub free_since: AtomicU64,
}

/// The lag data of a lock, at the lock's place.
#[repr(C)]
pub struct LockLag {
    /// Its last release, or signal.
    pub mark: Mark,
    /// Threads that wait for it, or were woken and do not have it yet.
    pub waiting: AtomicU32,
    /// 1 if its sections are the ones that are shorter: written by the reader.
    pub chosen: AtomicU32,
}

/// The lag data of a thread, at the thread's place.
#[repr(C, align(64))]
pub struct ThreadLag {
    /// Its pauses, and the time by which its sections would have been shorter.
    pub lag: AtomicU64,
    /// Handoffs on the way to where it is: [`Mark::handoffs`].
    pub handoffs: AtomicU64,
    /// Ticks when its outermost section began, moved on by the waits and pauses in it.
    pub since: AtomicU64,
    /// The number of sections that it is in.
    pub depth: AtomicU32,
    /// The places of their locks.
    pub sections: [AtomicU32; SECTIONS],
    /// The place, plus 1, of the condition that it last waited for until the wait's time was over; else 0.
    pub gave_up: AtomicU32,
    /// Ticks when that wait began, or the first of several that followed each other.
    pub gave_up_began: AtomicU64,
    /// Ticks when it was over.
    pub gave_up_ended: AtomicU64,
    /// The time that it waited for a CPU according to the kernel, in ns, when that was last read.
    pub cpu_waits_ns: AtomicU64,
    /// Ticks of that reading; 0 if there was none.
    pub looked_at: AtomicU64,
}

/// A thread that another will wait for.
#[repr(C)]
pub struct Kin {
    /// Its name in its process, and the process; 0 for a free place.
    pub key: AtomicU64,
    /// Its end; before its end, its beginning, with no time.
    pub mark: Mark,
}
