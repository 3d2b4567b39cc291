//! How far threads lag behind real time, in a run that asks what shorter sections would gain.

#[cfg(any(preload, clippy))]
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// The sections of one lock that a thread can be in at once, one within another.
pub const SECTIONS: usize = 8;
/// Threads that were created and not joined yet, by a number made of their names.
pub const KIN: usize = 4096;
/// What [`WhatIf::share`] is in.
pub const SHARE_ONE: u64 = 1024;

/// The question, and its answer. Times are in ticks.
#[repr(C, align(64))]
pub struct WhatIf {
    /// By how much the sections are shorter, in parts of [`SHARE_ONE`].
    pub share: AtomicU32,
    /// 1 once the first process's end was noted.
    pub has_exited: AtomicU32,
    /// Nanoseconds of a tick, times 2 to the 32nd.
    pub ns_per_tick: AtomicU64,
    /// As far as the thread lags that lags most, by its sections: what the others are to be paused.
    pub most: AtomicU64,
    /// How far the thread lagged with which the first process ended.
    pub exit_lag: AtomicU64,
    /// Handoffs on the way to that end: [`Mark::handoffs`].
    pub exit_handoffs: AtomicU64,
    /// Sections that ended.
    pub sections: AtomicU64,
    /// What these took.
    pub section_ticks: AtomicU64,
    /// What of the pauses was waited for at work.
    pub spun_ticks: AtomicU64,
    /// 1 if a section was in another process than the first, or what became of it.
    pub elsewhere: AtomicU32,
}

impl WhatIf {
    /// Ticks in nanoseconds.
    #[cfg(any(preload, clippy))]
    pub(crate) fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.ns_per_tick.load(Relaxed))) >> 32) as u64
    }

    /// Nanoseconds in ticks.
    #[cfg(any(preload, clippy))]
    pub(crate) fn ticks(&self, ns: u64) -> u64 {
        ((u128::from(ns) << 32) / u128::from(self.ns_per_tick.load(Relaxed).max(1))) as u64
    }
}

/// An event that lets others go on: a release, a signal, a thread's end.
#[repr(C)]
pub struct Mark {
    /// When it was; 0 if it never was.
    pub at: AtomicU64,
    /// How far who did it lagged.
    pub lag: AtomicU64,
    /// The time between a release, signal or end and the moment when the waiter ran again, or another thread acquired
    /// the lock before it, summed over the way to this event. Shorter sections may have fewer waits, and so a
    /// prediction may be too long by this sum.
    pub handoffs: AtomicU64,
    /// Of a lock: the virtual time when it was taken that was released then.
    pub taken: AtomicU64,
    /// Of a lock: the virtual time since when it was free before that.
    pub free_since: AtomicU64,
}

/// A lock's, at the lock's place.
#[repr(C)]
pub struct LockLag {
    /// Its last release, or signal.
    pub mark: Mark,
    /// Threads that wait for it, or were woken and do not have it yet.
    pub waiting: AtomicU32,
    /// 1 if its sections are the ones that are shorter: written by who asks.
    pub chosen: AtomicU32,
}

/// A thread's, at the thread's place.
#[repr(C, align(64))]
pub struct ThreadLag {
    /// Its pauses, and what its sections would have been shorter.
    pub lag: AtomicU64,
    /// Handoffs on the way to where it is: [`Mark::handoffs`].
    pub handoffs: AtomicU64,
    /// Ticks when its outermost section began, moved on by what was waited and paused in it.
    pub since: AtomicU64,
    /// How many sections it is in.
    pub depth: AtomicU32,
    /// The places of their locks.
    pub sections: [AtomicU32; SECTIONS],
    /// The place, plus 1, of the condition that it last waited for until the wait's time was over; else 0.
    pub gave_up: AtomicU32,
    /// Ticks when that wait began, or the first of several that followed each other.
    pub gave_up_began: AtomicU64,
    /// Ticks when it was over.
    pub gave_up_ended: AtomicU64,
    /// What the kernel says that it waited for a CPU, in ns, when that was last looked at.
    pub cpu_waits_ns: AtomicU64,
    /// Ticks when that was; 0 if it never was.
    pub looked_at: AtomicU64,
}

/// A thread that another will wait for.
#[repr(C)]
pub struct Kin {
    /// Its name in its process, and the process; 0 for a free place.
    pub key: AtomicU64,
    /// Its end; before that its beginning, with no time.
    pub mark: Mark,
}
