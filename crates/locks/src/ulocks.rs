//! The locks of `ulocks` that implement `lock_api`.

use crate::lock::{Lock, SharedLock};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use ulocks::lock_api::{self, MutexGuard, RawMutex, RawRwLock, RwLockReadGuard, RwLockWriteGuard};
use ulocks::{Count, Counted, Counts};

pub use ulocks::{Private, Shared};

pub type Usema<S> = Raw<ulocks::Usema<S, Counted>>;
pub type UsemaSpin<S> = Raw<ulocks::UsemaSpin<S, Counted, FromFlags>>;
pub type Calock<S> = Raw<ulocks::Calock<S, Counted>>;
pub type CalockSpin<S> = Raw<ulocks::CalockSpin<S, Counted, FromFlags>>;
pub type Adaptive<S> = Raw<ulocks::Adaptive<S, Counted>>;
pub type Biased = Raw<ulocks::Biased<Counted>>;
pub type Pi<S> = Raw<ulocks::Pi<S, Counted>>;
pub type Robust<S> = Raw<ulocks::Robust<S, Counted>>;
pub type Ticket = Raw<ulocks::Ticket<Counted>>;
pub type Mcs = Raw<ulocks::Mcs<Counted>>;
pub type AdaptiveRw<S> = RawRw<ulocks::AdaptiveRw<S, Counted>>;
pub type RwLock<S> = RawRw<ulocks::RwLock<S, Counted>>;
pub type RwLockFair<S> = RawRw<ulocks::RwLockFair<S, Counted>>;

static PATIENCE_NS: AtomicU64 = AtomicU64::new(3_000);

/// Sets the time for which the spinning locks spin before they sleep. 2002 tried 0 and 3 µs.
pub fn set_patience(patience: Duration) {
    PATIENCE_NS.store(patience.as_nanos() as u64, Ordering::Relaxed);
}

/// The spin limit that the flags set.
#[derive(Debug)]
pub struct FromFlags;

impl ulocks::Patience for FromFlags {
    fn patience() -> Duration {
        Duration::from_nanos(PATIENCE_NS.load(Ordering::Relaxed))
    }
}

/// A lock that counts.
pub trait Statistics {
    fn snapshot(&self) -> Counts;
}

macro_rules! statistics {
    ($([$($generics:tt)*] $lock:ty;)*) => {
        $(impl<$($generics)*> Statistics for $lock {
            fn snapshot(&self) -> Counts {
                self.counts().snapshot()
            }
        })*
    };
}

statistics! {
    [S: ulocks::Scope, P: ulocks::Patience] ulocks::UsemaSpin<S, Counted, P>;
    [S: ulocks::Scope, P: ulocks::Patience] ulocks::CalockSpin<S, Counted, P>;
    [S: ulocks::Scope] ulocks::Adaptive<S, Counted>;
    [] ulocks::Biased<Counted>;
    [S: ulocks::Scope] ulocks::Pi<S, Counted>;
    [S: ulocks::Scope] ulocks::Robust<S, Counted>;
    [] ulocks::Ticket<Counted>;
    [] ulocks::Mcs<Counted>;
    [S: ulocks::Scope] ulocks::AdaptiveRw<S, Counted>;
    [S: ulocks::Scope] ulocks::RwLock<S, Counted>;
    [S: ulocks::Scope] ulocks::RwLockFair<S, Counted>;
}

/// An exclusive lock.
pub struct Raw<R>(lock_api::Mutex<R, ()>);

impl<R: RawMutex + Statistics + Send + Sync + 'static> Lock for Raw<R> {
    type Guard<'a> = MutexGuard<'a, R, ()>;

    fn create() -> io::Result<Self> {
        Ok(Self(lock_api::Mutex::new(())))
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.0.lock()
    }

    fn counts(&self) -> Option<Counts> {
        // SAFETY: only the counters of the raw lock are read; it is not locked or unlocked.
        Some(unsafe { self.0.raw() }.snapshot())
    }
}

/// A lock with readers; as an exclusive lock it only writes.
pub struct RawRw<R>(lock_api::RwLock<R, ()>);

impl<R: RawRwLock + Statistics + Send + Sync + 'static> Lock for RawRw<R> {
    type Guard<'a> = RwLockWriteGuard<'a, R, ()>;

    fn create() -> io::Result<Self> {
        Ok(Self(lock_api::RwLock::new(())))
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.0.write()
    }

    fn counts(&self) -> Option<Counts> {
        // SAFETY: only the counters of the raw lock are read; it is not locked or unlocked.
        Some(unsafe { self.0.raw() }.snapshot())
    }
}

impl<R: RawRwLock + Statistics + Send + Sync + 'static> SharedLock for RawRw<R> {
    type ReadGuard<'a> = RwLockReadGuard<'a, R, ()>;

    #[inline(always)]
    fn read(&self) -> Self::ReadGuard<'_> {
        self.0.read()
    }
}
