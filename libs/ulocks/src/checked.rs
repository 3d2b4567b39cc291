//! Deadlock detection for any lock of `lock_api`.
//!
//! # State
//!
//! The lock, and a number for it. In addition, the process has one graph: which thread holds each lock, which thread
//! waits for which lock, and which locks were ever acquired while which other was held. Each entry has a backtrace of
//! its call site.
//!
//! # Reports
//!
//! - **A deadlock, as it closes.** The holder of a lock waits, directly or through other threads, for a thread that
//!   is about to wait for that lock, or is that thread. The latter panics instead of waiting. The message contains
//!   the call sites where each lock was acquired and is waited for. As it unwinds, it releases its locks, and the
//!   other threads continue. (A condition variable that reacquires its lock cannot unwind: the panic ends the
//!   process.)
//! - **An order that can deadlock, before it does.** The first time that two locks are acquired in both orders, by
//!   any threads, however far apart in time, both call sites are reported.
//!
//! Waits with a timeout and `try_lock` end by themselves: they close no cycle and prove nothing about orders.
//!
//! # Memory ordering
//!
//! A mutex protects the graph. A wait is recorded before it begins, a hold after it has begun, and both are removed
//! before they end. The last thread of a cycle to record its wait therefore sees the whole cycle. No false cycle is
//! reported as long as the thread that acquired a lock also releases it: a guard that is sent to another thread still
//! counts as the first one's.
//!
//! # Fork
//!
//! The graph may be in use when another thread forks: a child must not use watched locks unless its parent had one
//! thread.
//!
//! # Fairness, and stopped or terminated threads
//!
//! Those of the lock.
//!
//! # Cost
//!
//! [`Unwatched`] costs nothing: the lock has the size and speed of the plain one. [`Watched`] costs some microseconds
//! and a backtrace for each acquisition.
//!
//! # References
//!
//! The cycle is that of the wait-for graph in databases. Orders before they deadlock: lockdep, Ingo Molnár and Arjan
//! van de Ven, Linux 2.6.18.

use lock_api::{RawMutex, RawMutexFair, RawMutexTimed};
use std::{
    backtrace::Backtrace,
    collections::{HashMap, HashSet},
    fmt::{self, Write},
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

/// Choice between [`Watched`] and [`Unwatched`] for a [`Checked`] lock.
pub trait Watch: sealed::Sealed + fmt::Debug + Send + Sync + 'static {
    /// Value for a new lock.
    #[allow(clippy::declare_interior_mutable_const)] // as in lock_api: a template for a new lock, never shared
    const NEW: Self;
    /// Records that the thread is about to acquire the lock without a timeout.
    fn asks(&self);
    /// Records that the lock is held and the thread is about to wait for it.
    fn waits(&self);
    /// Records that the thread has acquired the lock.
    fn taken(&self);
    /// Records that the lock is about to be released.
    fn freed(&self);
}

/// No detection: no bytes, no instructions.
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

/// Deadlock detection, with 8 bytes in each lock.
#[derive(Debug)]
pub struct Watched(AtomicU64);

fn graph() -> MutexGuard<'static, Graph> {
    static GRAPH: LazyLock<Mutex<Graph>> = LazyLock::new(Mutex::default);
    GRAPH.lock().unwrap_or_else(PoisonError::into_inner)
}

static HOOK: OnceLock<fn(&str)> = OnceLock::new();

/// Sends the reports of lock orders that can deadlock to `hook` instead of stderr; returns whether `hook` was
/// installed.
///
/// Only the first call installs its hook.
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

fn call_site() -> Arc<Backtrace> {
    Arc::new(Backtrace::force_capture())
}

impl Watched {
    fn id(&self) -> LockId {
        match self.0.load(Relaxed) {
            0 => {
                let id = number();
                self.0.compare_exchange(0, id, Relaxed, Relaxed).map_or_else(|existing| existing, |_| id)
            }
            id => id,
        }
    }
}

impl Watch for Watched {
    const NEW: Self = Watched(AtomicU64::new(0));

    fn asks(&self) {
        let call_site = call_site();
        let report = graph().ordered(self.id(), this_thread(), &call_site);
        if let Some(report) = report {
            HOOK.get().copied().unwrap_or(|report| eprintln!("{report}"))(&report);
        }
    }

    fn waits(&self) {
        let call_site = call_site();
        let report = graph().waits(self.id(), this_thread(), call_site);
        if let Some(report) = report {
            panic!("{report}");
        }
    }

    fn taken(&self) {
        let call_site = call_site();
        graph().taken(self.id(), this_thread(), call_site);
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

/// A lock with deadlock detection or, with [`Unwatched`], the plain lock.
///
/// # Examples
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

// SAFETY: the inner lock, whose guard this lock returns, excludes other threads.
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
        // SAFETY: the caller holds the lock, because it has the guard.
        unsafe { self.lock.unlock(guard) }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }
}

raw_mutex_04!([R: RawMutex<Guard: crate::raw::StatelessGuard>, W: Watch] Checked<R, W>);

// SAFETY: `Some` is returned only if the inner lock was acquired.
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

raw_mutex_timed_04!([R: RawMutexTimed<Guard: crate::raw::StatelessGuard>, W: Watch] Checked<R, W>);

// SAFETY: `unlock_fair` of the inner lock releases it, as `unlock` does.
unsafe impl<R: RawMutexFair, W: Watch> RawMutexFair for Checked<R, W> {
    unsafe fn unlock_fair(&self, guard: Self::Guard) {
        self.watch.freed();
        // SAFETY: the caller holds the lock, because it has the guard.
        unsafe { self.lock.unlock_fair(guard) }
    }
}

raw_mutex_fair_04!([R: RawMutexFair<Guard: crate::raw::StatelessGuard>, W: Watch] Checked<R, W>);

/// Number of a lock, unique as long as the process lives.
type LockId = u64;
/// Number of a thread, unique as long as the process lives.
type ThreadNumber = u64;

struct Hold {
    thread: ThreadNumber,
    since: Arc<Backtrace>,
}

/// State of all watched locks.
#[derive(Default)]
struct Graph {
    holds: HashMap<LockId, Hold>,
    waits: HashMap<ThreadNumber, (LockId, Arc<Backtrace>)>,
    /// For each lock, the locks that were acquired while it was held, and the call site of the first time.
    orders: HashMap<LockId, HashMap<LockId, Arc<Backtrace>>>,
}

impl Graph {
    fn taken(&mut self, lock: LockId, thread: ThreadNumber, call_site: Arc<Backtrace>) {
        self.waits.remove(&thread);
        self.holds.insert(lock, Hold { thread, since: call_site });
    }

    fn freed(&mut self, lock: LockId) {
        self.holds.remove(&lock);
    }

    fn destroyed(&mut self, lock: LockId) {
        self.holds.remove(&lock);
        self.orders.remove(&lock);
        self.orders.values_mut().for_each(|after| drop(after.remove(&lock)));
    }

    /// Records that this thread is about to acquire the lock; returns a report if the order is new and conflicts with
    /// an earlier one.
    fn ordered(&mut self, lock: LockId, thread: ThreadNumber, call_site: &Arc<Backtrace>) -> Option<String> {
        let held: Vec<LockId> =
            self.holds.iter().filter(|(_, hold)| hold.thread == thread).map(|(&id, _)| id).collect();
        let mut report = None;
        for before in held.into_iter().filter(|&before| before != lock) {
            if self.orders.get(&before).is_some_and(|after| after.contains_key(&lock)) {
                continue;
            }
            if let Some(first_site) = self.first_step(lock, before) {
                report.get_or_insert(format!(
                    "locks {before} and {lock} are taken in both orders, which can deadlock\n\
                     {before} before {lock}, here:\n{call_site}\n{lock} before {before}, first here:\n{first_site}"
                ));
            }
            self.orders.entry(before).or_default().insert(lock, Arc::clone(call_site));
        }
        report
    }

    /// Returns the call site at which, on a path between the two locks, the second lock of the path was first
    /// acquired while the first was held; `None` without a path.
    fn first_step(&self, from: LockId, to: LockId) -> Option<&Arc<Backtrace>> {
        let leads = |step: LockId| {
            let (mut seen, mut pending) = (HashSet::new(), vec![step]);
            while let Some(lock) = pending.pop() {
                if lock == to {
                    return true;
                }
                if seen.insert(lock) {
                    pending.extend(self.orders.get(&lock).into_iter().flat_map(HashMap::keys));
                }
            }
            false
        };
        self.orders.get(&from)?.iter().find(|(step, _)| leads(**step)).map(|(_, site)| site)
    }

    /// Records that this thread waits for the lock until it acquires it; returns a report if that closes a cycle.
    fn waits(&mut self, lock: LockId, thread: ThreadNumber, call_site: Arc<Backtrace>) -> Option<String> {
        self.waits.insert(thread, (lock, call_site));
        let (mut waiting, mut awaited, mut report) = (thread, lock, String::new());
        loop {
            let hold = self.holds.get(&awaited)?;
            let (_, site) = self.waits.get(&waiting)?;
            let _ = write!(
                report,
                "thread {waiting} waits for lock {awaited}, here:\n{site}\n\
                 thread {} has held lock {awaited} since here:\n{}\n",
                hold.thread, hold.since
            );
            if hold.thread == thread {
                self.waits.remove(&thread);
                return Some(format!("deadlock: no thread will release lock {lock}\n{report}"));
            }
            // The thread that closed a cycle without this thread has reported it.
            if hold.thread == waiting {
                return None;
            }
            waiting = hold.thread;
            awaited = self.waits.get(&waiting)?.0;
        }
    }
}
