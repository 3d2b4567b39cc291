//! Condition variables, and what is done once.

use crate::{
    deadline::remaining,
    pointer::{answer, at},
};
use libc::timespec;
use std::{ffi::c_int, time::Duration};
use ulocks::{Adaptive, Condvar, NoCount, Once, Private, Scope, Shared};

/// Frees the lock, waits, and takes the lock again: 0, or `ETIMEDOUT`.
fn wait<S: Scope>(condition: &Condvar<S>, lock: &Adaptive<S, NoCount>, timeout: Option<Duration>) -> c_int {
    let in_time = condition.wait_with(timeout, |sleep| {
        // SAFETY: who calls from C holds the lock.
        unsafe { lock.unlock() };
        sleep();
        lock.lock();
    });
    answer(in_time, libc::ETIMEDOUT)
}

macro_rules! condition {
    ($scope:ty, $wait:ident, $timed:ident, $until:ident, $signal:ident, $broadcast:ident) => {
        /// Waits for a notification.
        ///
        /// # Safety
        /// `condition` and `lock` point to one of each kind, all zero or used only by these functions, and the caller
        /// holds the lock.
        #[unsafe(export_name = concat!("ulocks_", stringify!($wait)))]
        pub unsafe extern "C" fn $wait(condition: *const Condvar<$scope>, lock: *const Adaptive<$scope, NoCount>) {
            // SAFETY: the caller says so, and keeps them alive.
            wait(unsafe { at(condition) }, unsafe { at(lock) }, None);
        }

        /// Waits for a notification, for this many nanoseconds at most: 0, or `ETIMEDOUT`.
        ///
        /// # Safety
        /// As for waiting.
        #[unsafe(export_name = concat!("ulocks_", stringify!($timed)))]
        pub unsafe extern "C" fn $timed(
            condition: *const Condvar<$scope>,
            lock: *const Adaptive<$scope, NoCount>,
            nanoseconds: u64,
        ) -> c_int {
            let timeout = Some(Duration::from_nanos(nanoseconds));
            // SAFETY: the caller says so, and keeps them alive.
            wait(unsafe { at(condition) }, unsafe { at(lock) }, timeout)
        }

        /// Waits for a notification, until this time of `CLOCK_MONOTONIC` at most: 0, `ETIMEDOUT` or `EINVAL`.
        ///
        /// # Safety
        /// As for waiting, and `deadline` points to a time.
        #[unsafe(export_name = concat!("ulocks_", stringify!($until)))]
        pub unsafe extern "C" fn $until(
            condition: *const Condvar<$scope>,
            lock: *const Adaptive<$scope, NoCount>,
            deadline: *const timespec,
        ) -> c_int {
            // SAFETY: the caller says that they are what they must be, and keeps them alive.
            let (condition, lock, remaining) = unsafe { (at(condition), at(lock), remaining(at(deadline))) };
            remaining.map_or(libc::EINVAL, |time| wait(condition, lock, Some(time)))
        }

        /// Wakes the thread that has waited longest.
        ///
        /// # Safety
        /// `condition` points to one of this kind.
        #[unsafe(export_name = concat!("ulocks_", stringify!($signal)))]
        pub unsafe extern "C" fn $signal(condition: *const Condvar<$scope>) {
            // SAFETY: the caller says that it is one, and keeps it alive.
            unsafe { at(condition) }.notify_one();
        }

        /// Wakes all that wait.
        ///
        /// # Safety
        /// `condition` points to one of this kind.
        #[unsafe(export_name = concat!("ulocks_", stringify!($broadcast)))]
        pub unsafe extern "C" fn $broadcast(condition: *const Condvar<$scope>) {
            // SAFETY: the caller says that it is one, and keeps it alive.
            unsafe { at(condition) }.notify_all();
        }
    };
}

condition!(Private, ucond_wait, ucond_timedwait, ucond_wait_until, ucond_signal, ucond_broadcast);
condition!(
    Shared,
    shared_ucond_wait,
    shared_ucond_timedwait,
    shared_ucond_wait_until,
    shared_ucond_signal,
    shared_ucond_broadcast
);

/// Calls `work` if nobody has through this, or waits until that call has returned.
///
/// # Safety
/// `once` points to one, all zero or used only by this function; `work` may be called.
#[unsafe(export_name = "ulocks_uonce_call")]
pub unsafe extern "C" fn uonce_call(once: *const Once<Private>, work: unsafe extern "C" fn()) {
    // SAFETY: the caller says that it is one, and that the function may be called.
    unsafe { at(once) }.call_once(|| unsafe { work() });
}
