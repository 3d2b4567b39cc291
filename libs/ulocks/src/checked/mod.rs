//! Any lock of `lock_api`, watched for deadlocks.
//!
//! # State
//! The lock, and a number for it. Beside it, once in the process: who holds what, who waits for what, and which lock
//! was ever taken while which other was held, each with a backtrace of where.
//!
//! # What it finds
//! - **A deadlock, as it closes.** A thread that is about to wait for a lock whose holder waits, through whatever
//!   chain, for this thread (or is this thread) panics instead, with the places where each lock was taken and is waited
//!   for. As it unwinds it frees what it holds, and the others go on. (A condition variable that takes its lock again
//!   cannot unwind: there it ends the process.)
//! - **An order that can deadlock, before it does.** The first time that two locks are taken in both orders, by
//!   whatever threads, however far apart in time, both places are told.
//!
//! Waits with a timeout and tries end by themselves: they close no circle and say nothing about orders.
//!
//! # Ordering
//! The books are kept under a mutex: a wait is entered before it begins, a hold after it has begun, and both are struck
//! out before they end. So of the threads of a circle the last one to enter sees all of it, and no circle is seen that
//! is none, as long as who took a lock frees it: a guard that is sent to another thread still counts as the first
//! one's.
//!
//! # Fork
//! The books may be in use when another thread forks: a child must not use watched locks unless its parent had one
//! thread.
//!
//! # Fairness, a stopped or dead holder
//! The lock's own.
//!
//! # What it costs
//! [`Unwatched`]: nothing; the lock is as large and as fast as without. [`Watched`]: some microseconds and a backtrace
//! for each acquisition.
//!
//! # Source
//! The circle is the wait-for graph of every database; orders before they fail: lockdep, Ingo Molnár and Arjan van de
//! Ven, Linux 2.6.18.

mod graph;

use graph::{Graph, LockId, ThreadNumber};
use lock_api::{RawMutex, RawMutexFair, RawMutexTimed};
use std::{
    backtrace::Backtrace,
    fmt,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Watched {}
    impl Sealed for super::Unwatched {}
}

/// Whether a [`Checked`] lock is watched: [`Watched`] or [`Unwatched`].
pub trait Watch: sealed::Sealed + fmt::Debug + Send + Sync + 'static {
    /// Of a new lock.
    #[allow(clippy::declare_interior_mutable_const)] // as in lock_api: a template for a new lock, never shared
    const NEW: Self;
    /// The thread is about to take the lock, without a timeout.
    fn asks(&self);
    /// The lock is held, and the thread is about to wait for it.
    fn waits(&self);
    /// The thread has taken the lock.
    fn taken(&self);
    /// The lock is about to be freed.
    fn freed(&self);
}

/// Not watched: no bytes, no instructions.
#[derive(Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    const NEW: Self = Unwatched;
    #[inline(always)]
    fn asks(&self) {}
    #[inline(always)]
    fn waits(&self) {}
    #[inline(always)]
    fn taken(&self) {}
    #[inline(always)]
    fn freed(&self) {}
}

/// Watched. 8 bytes.
#[derive(Debug)]
pub struct Watched(AtomicU64);

fn graph() -> MutexGuard<'static, Graph> {
    static GRAPH: LazyLock<Mutex<Graph>> = LazyLock::new(Mutex::default);
    GRAPH.lock().unwrap_or_else(PoisonError::into_inner)
}

static HOOK: OnceLock<fn(&str)> = OnceLock::new();

/// Tells `hook` of orders that can deadlock, instead of stderr; says whether it will, since only the first is taken.
pub fn tell_orders_to(hook: fn(&str)) -> bool {
    HOOK.set(hook).is_ok()
}

fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

fn this_thread() -> ThreadNumber {
    thread_local! {
        static NUMBER: ThreadNumber = number();
    }
    NUMBER.with(|number| *number)
}

fn here() -> Arc<Backtrace> {
    Arc::new(Backtrace::force_capture())
}

impl Watched {
    fn id(&self) -> LockId {
        match self.0.load(Relaxed) {
            0 => {
                let mine = number();
                self.0.compare_exchange(0, mine, Relaxed, Relaxed).map_or_else(|other| other, |_| mine)
            }
            id => id,
        }
    }
}

impl Watch for Watched {
    const NEW: Self = Watched(AtomicU64::new(0));

    fn asks(&self) {
        let here = here();
        let said = graph().ordered(self.id(), this_thread(), &here);
        if let Some(said) = said {
            HOOK.get().copied().unwrap_or(|said| eprintln!("{said}"))(&said);
        }
    }

    fn waits(&self) {
        let here = here();
        let said = graph().waits(self.id(), this_thread(), here);
        if let Some(said) = said {
            panic!("{said}");
        }
    }

    fn taken(&self) {
        let here = here();
        graph().taken(self.id(), this_thread(), here);
    }

    fn freed(&self) {
        graph().freed(self.id());
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let id = *self.0.get_mut();
        if id != 0 {
            graph().destroyed(id);
        }
    }
}

/// A lock that is watched for deadlocks, or, with [`Unwatched`], is just that lock.
///
/// ```
/// use ulocks::{Adaptive, Checked, lock_api::Mutex};
///
/// #[cfg(debug_assertions)]
/// type Lock = Checked<Adaptive>;
/// #[cfg(not(debug_assertions))]
/// type Lock = Checked<Adaptive, ulocks::Unwatched>;
///
/// static TOTAL: Mutex<Lock, u64> = Mutex::new(0);
/// *TOTAL.lock() += 1;
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Checked<R, W: Watch = Watched> {
    lock: R,
    watch: W,
}

// SAFETY: exclusion is that of the lock inside, whose guard it is.
unsafe impl<R: RawMutex, W: Watch> RawMutex for Checked<R, W> {
    #[allow(clippy::declare_interior_mutable_const)] // a template for a new lock, never shared
    const INIT: Self = Checked { lock: R::INIT, watch: W::NEW };
    type Guard = R::Guard;

    #[inline]
    fn lock(&self) -> Self::Guard {
        self.watch.asks();
        let guard = self.lock.try_lock().unwrap_or_else(|| {
            self.watch.waits();
            self.lock.lock()
        });
        self.watch.taken();
        guard
    }

    #[inline]
    fn try_lock(&self) -> Option<Self::Guard> {
        self.lock.try_lock().inspect(|_| self.watch.taken())
    }

    #[inline]
    unsafe fn unlock(&self, guard: Self::Guard) {
        self.watch.freed();
        // SAFETY: the caller holds the lock: it has the guard.
        unsafe { self.lock.unlock(guard) }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }
}

// SAFETY: `Some` is returned only where the lock inside was taken.
unsafe impl<R: RawMutexTimed, W: Watch> RawMutexTimed for Checked<R, W> {
    type Duration = R::Duration;
    type Instant = R::Instant;

    fn try_lock_for(&self, timeout: Self::Duration) -> Option<Self::Guard> {
        self.lock.try_lock_for(timeout).inspect(|_| self.watch.taken())
    }

    fn try_lock_until(&self, deadline: Self::Instant) -> Option<Self::Guard> {
        self.lock.try_lock_until(deadline).inspect(|_| self.watch.taken())
    }
}

// SAFETY: it frees the lock, as `unlock` does.
unsafe impl<R: RawMutexFair, W: Watch> RawMutexFair for Checked<R, W> {
    unsafe fn unlock_fair(&self, guard: Self::Guard) {
        self.watch.freed();
        // SAFETY: the caller holds the lock: it has the guard.
        unsafe { self.lock.unlock_fair(guard) }
    }
}
