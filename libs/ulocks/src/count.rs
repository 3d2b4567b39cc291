//! Lock statistics, counted in the lock, behind a type parameter so that a lock without them pays nothing.
//!
//! As in ulocks of 2002 an event costs one increment, and only contended operations have events: a lock taken without
//! waiting touches no counter. The counters are statistics, not synchronisation, so they are relaxed, and they use the
//! plain atomics even where a model checker replaces the lock's own.

use core::{
    fmt,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// What happened on a lock since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Exclusive acquisitions that found the lock taken.
    pub write_contended: u64,
    /// Shared acquisitions that found the lock taken.
    pub read_contended: u64,
    /// Contended acquisitions that ended while spinning, without a sleep.
    pub spun: u64,
    /// Times a thread went to sleep: one acquisition may do it more than once.
    pub slept: u64,
}

impl Counts {
    /// The `R` column of 2002 for a lock that hands over: the share of contended acquisitions that spinning resolved.
    pub fn spun_share(&self) -> f64 {
        share(self.spun, self.write_contended + self.read_contended)
    }

    /// The `R` column of 2002 for a lock that does not hand over: how often a contended acquisition slept, on average.
    pub fn sleeps_per_contention(&self) -> f64 {
        share(self.slept, self.write_contended + self.read_contended)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NoCount {}
    impl Sealed for super::Counted {}
}

/// Whether a lock counts: [`NoCount`] or [`Counted`].
pub trait Count: sealed::Sealed + fmt::Debug + Send + Sync + 'static {
    /// Nothing has happened yet.
    #[allow(clippy::declare_interior_mutable_const)] // as in lock_api: a template for a new lock, never shared
    const ZERO: Self;

    /// An exclusive acquisition found the lock taken.
    fn write_contended(&self);
    /// A shared acquisition found the lock taken.
    fn read_contended(&self);
    /// A contended acquisition ended while spinning.
    fn spun(&self);
    /// A thread is about to sleep.
    fn slept(&self);
    /// The counters now. Each is read on its own, so they may be apart by what is happening meanwhile.
    fn snapshot(&self) -> Counts;
}

/// No statistics, no bytes, no instructions.
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
