//! Lock statistics, counted in the lock, and selected by a type parameter so that a lock without them has no cost.
//!
//! As in ulocks of 2002, an event costs one increment, and only contended operations have events: an acquisition
//! without waiting does not touch a counter. The counters are statistics, not synchronisation, so they are relaxed.
//! They use the plain atomics even where a model checker replaces those of the lock.

use core::{
    fmt,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// The events of a lock since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of exclusive acquisitions that found the lock held.
    pub write_contended: u64,
    /// Number of shared acquisitions that found the lock held.
    pub read_contended: u64,
    /// Number of contended acquisitions that ended while spinning, without blocking.
    pub spun: u64,
    /// Number of times that a thread blocked; one acquisition may block more than once.
    pub slept: u64,
}

impl Counts {
    /// Returns the share of contended acquisitions that ended while spinning: the `R` column of 2002 for a lock that
    /// hands off.
    pub fn spun_share(&self) -> f64 {
        share(self.spun, self.write_contended + self.read_contended)
    }

    /// Returns how often a contended acquisition blocked on average: the `R` column of 2002 for a lock that does not
    /// hand off.
    pub fn sleeps_per_contention(&self) -> f64 {
        share(self.slept, self.write_contended + self.read_contended)
    }
}

fn share(part: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { part as f64 / total as f64 }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NoCount {}
    impl Sealed for super::Counted {}
}

/// Choice between [`NoCount`] and [`Counted`] for the statistics of a lock.
pub trait Count: sealed::Sealed + fmt::Debug + Send + Sync + 'static {
    /// Counters before the first event.
    #[allow(clippy::declare_interior_mutable_const)] // as in lock_api: a template for a new lock, never shared
    const ZERO: Self;

    /// Counts an exclusive acquisition that found the lock held.
    fn write_contended(&self);
    /// Counts a shared acquisition that found the lock held.
    fn read_contended(&self);
    /// Counts a contended acquisition that ended while spinning.
    fn spun(&self);
    /// Counts a thread that is about to block.
    fn slept(&self);
    /// Returns the current counters.
    ///
    /// Each counter is read separately, so they may differ by the events that happen during the call.
    fn snapshot(&self) -> Counts;
}

/// No statistics: no bytes, no instructions.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCount;

impl Count for NoCount {
    const ZERO: Self = NoCount;
    #[inline(always)]
    fn write_contended(&self) {}
    #[inline(always)]
    fn read_contended(&self) {}
    #[inline(always)]
    fn spun(&self) {}
    #[inline(always)]
    fn slept(&self) {}
    fn snapshot(&self) -> Counts {
        Counts::default()
    }
}

/// Statistics: one relaxed increment for each event, 32 bytes in the lock.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counted {
    write_contended: AtomicU64,
    read_contended: AtomicU64,
    spun: AtomicU64,
    slept: AtomicU64,
}

impl Count for Counted {
    const ZERO: Self = Counted {
        write_contended: AtomicU64::new(0),
        read_contended: AtomicU64::new(0),
        spun: AtomicU64::new(0),
        slept: AtomicU64::new(0),
    };
    fn write_contended(&self) {
        self.write_contended.fetch_add(1, Relaxed);
    }
    fn read_contended(&self) {
        self.read_contended.fetch_add(1, Relaxed);
    }
    fn spun(&self) {
        self.spun.fetch_add(1, Relaxed);
    }
    fn slept(&self) {
        self.slept.fetch_add(1, Relaxed);
    }
    fn snapshot(&self) -> Counts {
        Counts {
            write_contended: self.write_contended.load(Relaxed),
            read_contended: self.read_contended.load(Relaxed),
            spun: self.spun.load(Relaxed),
            slept: self.slept.load(Relaxed),
        }
    }
}
