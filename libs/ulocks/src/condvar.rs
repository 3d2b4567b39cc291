//! A condition variable for any lock of this crate.
//!
//! # State
//!
//! | word | meaning |
//! |---|---|
//! | `notes` | number of notifications |
//! | `waiting` | number of threads that wait |
//!
//! # Memory ordering
//!
//! A waiter announces itself and reads `notes` while it still holds the lock. A notifier that made the condition true
//! did so later under the lock, and therefore sees both effects. It finds the announced waiter, and it changes the
//! `notes` that the kernel compares when the waiter blocks. The lock orders them, so all operations here can be
//! relaxed. A notifier that never acquired the lock may notify too early, as with every condition variable.
//!
//! `notes` wraps around: a waiter that is stopped between the unlock and the blocking for exactly 4,294,967,296
//! notifications misses them.
//!
//! # Fairness
//!
//! A notification wakes a thread that waited when it was made: the kernel changes `notes` and wakes as one step, so a
//! thread that arrives later cannot block before the wake-up. Of the waiting threads, the kernel wakes the one with
//! the highest real-time priority, and among equals the one that has waited longest. The woken threads then compete
//! for the lock by its rules. A wait may return spuriously, so wait in a loop.
//!
//! # Stopped or terminated threads
//!
//! A waiter that is stopped or dies may consume a notification, and is counted as woken. Processes that can be killed should use `notify_all`.
//!
//! # References
//!
//! The sequence counter of the futex condition variables of musl and Rust, incremented by `FUTEX_WAKE_OP`, which
//! glibc used for the same purpose up to 2.24. The count of waiters saves a system call when there are none. (The
//! condition variables of glibc up to 2.40 can lose a wake-up: bug 25847.)

use crate::{
    atomic::{AtomicU32, Ordering::Relaxed},
    futex::{self, Deadline, Private, Scope, Wait},
};
use core::{fmt, marker::PhantomData, time::Duration};
#[cfg(feature = "std")]
use std::time::Instant;

/// A condition variable of 8 bytes.
///
/// It is used through a `lock_api` guard of any lock.
///
/// # Examples
///
/// ```
/// use std::thread;
/// use ulocks::{Adaptive, Condvar, lock_api::Mutex};
///
/// static READY: Mutex<Adaptive, bool> = Mutex::new(false);
/// static CHANGED: Condvar = Condvar::new();
///
/// let waiter = thread::spawn(|| {
///     let mut ready = READY.lock();
///     while !*ready {
///         CHANGED.wait(&mut ready);
///     }
/// });
/// *READY.lock() = true;
/// CHANGED.notify_one();
/// waiter.join().unwrap();
/// ```
#[repr(C)]
pub struct Condvar<S: Scope = Private> {
    notes: AtomicU32,
    waiting: AtomicU32,
    scope: PhantomData<S>,
}

const _: () = assert!(cfg!(loom) || size_of::<Condvar>() == 8);

impl<S: Scope> Condvar<S> {
    const_unless_loom! {
        /// Returns a condition variable without waiters.
        pub fn new() -> Self {
            Self::starting_at(0)
        }
    }

    const_unless_loom! {
        /// Returns a condition variable that has been notified `notes` times, for tests of the wrap-around.
        #[doc(hidden)]
        pub fn starting_at(notes: u32) -> Self {
            Condvar { notes: AtomicU32::new(notes), waiting: AtomicU32::new(0), scope: PhantomData }
        }
    }

    /// Releases the lock, waits for a notification, and reacquires the lock.
    pub fn wait<R: lock_api::RawMutex, T: ?Sized>(&self, guard: &mut lock_api::MutexGuard<'_, R, T>) {
        self.wait_unlocked(None, |sleep| lock_api::MutexGuard::unlocked(guard, sleep));
    }

    /// Waits for a notification as [`wait`](Self::wait) does, for at most `timeout`; returns whether the wait ended
    /// before.
    pub fn wait_for<R: lock_api::RawMutex, T: ?Sized>(
        &self,
        guard: &mut lock_api::MutexGuard<'_, R, T>,
        timeout: Duration,
    ) -> bool {
        self.wait_unlocked(Deadline::after(timeout), |sleep| lock_api::MutexGuard::unlocked(guard, sleep))
    }

    /// Waits for a notification as [`wait`](Self::wait) does, until `deadline` at most; returns whether the wait
    /// ended before.
    #[cfg(feature = "std")]
    pub fn wait_until<R: lock_api::RawMutex, T: ?Sized>(
        &self,
        guard: &mut lock_api::MutexGuard<'_, R, T>,
        deadline: Instant,
    ) -> bool {
        self.wait_unlocked(Deadline::at(deadline), |sleep| lock_api::MutexGuard::unlocked(guard, sleep))
    }

    /// Waits while `condition` returns true for the protected data.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread;
    /// use ulocks::{Adaptive, Condvar, lock_api::Mutex};
    ///
    /// static JOBS: Mutex<Adaptive, Vec<u32>> = Mutex::new(Vec::new());
    /// static CHANGED: Condvar = Condvar::new();
    ///
    /// thread::spawn(|| {
    ///     JOBS.lock().push(7);
    ///     CHANGED.notify_one();
    /// });
    /// let mut jobs = JOBS.lock();
    /// CHANGED.wait_while(&mut jobs, |jobs| jobs.is_empty());
    /// assert_eq!(jobs.pop(), Some(7));
    /// ```
    pub fn wait_while<R: lock_api::RawMutex, T: ?Sized>(
        &self,
        guard: &mut lock_api::MutexGuard<'_, R, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// Waits as [`wait_while`](Self::wait_while) does, for at most `timeout`; returns whether the condition became
    /// false.
    pub fn wait_while_for<R: lock_api::RawMutex, T: ?Sized>(
        &self,
        guard: &mut lock_api::MutexGuard<'_, R, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        timeout: Duration,
    ) -> bool {
        let deadline = Deadline::after(timeout);
        while condition(guard) {
            if !self.wait_unlocked(deadline, |sleep| lock_api::MutexGuard::unlocked(guard, sleep)) {
                return !condition(guard);
            }
        }
        true
    }

    /// Waits as [`wait_while`](Self::wait_while) does, until `deadline` at most; returns whether the condition became
    /// false.
    #[cfg(feature = "std")]
    pub fn wait_while_until<R: lock_api::RawMutex, T: ?Sized>(
        &self,
        guard: &mut lock_api::MutexGuard<'_, R, T>,
        condition: impl FnMut(&mut T) -> bool,
        deadline: Instant,
    ) -> bool {
        self.wait_while_for(guard, condition, deadline.saturating_duration_since(Instant::now()))
    }

    /// Waits with a lock that has no guard, for at most `timeout`; returns whether the wait ended before.
    ///
    /// `unlocked` must release the lock, call its argument, and reacquire the lock.
    pub fn wait_with(&self, timeout: Option<Duration>, unlocked: impl FnOnce(&mut dyn FnMut())) -> bool {
        self.wait_unlocked(timeout.and_then(Deadline::after), |mut sleep| unlocked(&mut sleep))
    }

    fn wait_unlocked(&self, deadline: Option<Deadline>, unlocked: impl FnOnce(&mut dyn FnMut())) -> bool {
        self.waiting.fetch_add(1, Relaxed);
        let notes = self.notes.load(Relaxed);
        let mut ended = Wait::Woken;
        unlocked(&mut || ended = futex::wait::<S>(&self.notes, notes, futex::ALL, deadline));
        self.waiting.fetch_sub(1, Relaxed);
        ended != Wait::TimedOut
    }

    /// Wakes the thread that has waited longest, if any waits; returns whether a blocked thread was woken.
    ///
    /// A thread that has begun to wait and is not blocked yet is not counted. It returns too, as from a spurious
    /// wake-up. Hence `false` does not mean that no thread waited.
    pub fn notify_one(&self) -> bool {
        self.notify(1) > 0
    }

    /// Wakes all waiting threads; returns the number of blocked threads that were woken.
    ///
    /// Threads that have begun to wait and are not blocked yet are not counted. They return too, as from a spurious
    /// wake-up.
    pub fn notify_all(&self) -> usize {
        self.notify(u32::MAX)
    }

    fn notify(&self, count: u32) -> usize {
        if self.waiting.load(Relaxed) > 0 { futex::add_and_wake::<S>(&self.notes, count) } else { 0 }
    }
}

impl<S: Scope> fmt::Debug for Condvar<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Condvar").finish_non_exhaustive()
    }
}

#[cfg(not(loom))]
impl<S: Scope> Default for Condvar<S> {
    fn default() -> Self {
        Self::new()
    }
}
