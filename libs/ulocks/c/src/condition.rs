//! Condition variables and one-time initialisation.

use crate::{
    deadline::remaining,
    pointer::{answer, at},
};
use libc::timespec;
use std::{ffi::c_int, time::Duration};
use ulocks::{Adaptive, Condvar, NoCount, Once, Private, Scope, Shared};

/// Releases the lock, waits, and reacquires the lock; returns 0 or `ETIMEDOUT`.
fn wait<S: Scope>(condition: &Condvar<S>, lock: &Adaptive<S, NoCount>, timeout: Option<Duration>) -> c_int {
    let in_time = condition.wait_with(timeout, |sleep| {
        // SAFETY: the contract of the exported functions is that the caller holds the lock.
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
        ///
        /// `condition` and `lock` point to objects of their types that are all zero or used only by these functions.
        /// The caller holds the lock.
        #[unsafe(export_name = concat!("ulocks_", stringify!($wait)))]
        pub unsafe extern "C" fn $wait(condition: *const Condvar<$scope>, lock: *const Adaptive<$scope, NoCount>) {
            // SAFETY: by the contract of this function, both point to valid objects that live as long as the call.
            wait(unsafe { at(condition) }, unsafe { at(lock) }, None);
        }

        /// Waits for a notification for at most this number of nanoseconds; returns 0 or `ETIMEDOUT`.
        ///
        /// # Safety
        ///
        /// `condition` and `lock` point to objects of their types that are all zero or used only by these functions.
        /// The caller holds the lock.
        #[unsafe(export_name = concat!("ulocks_", stringify!($timed)))]
        pub unsafe extern "C" fn $timed(
            condition: *const Condvar<$scope>,
            lock: *const Adaptive<$scope, NoCount>,
            nanoseconds: u64,
        ) -> c_int {
            let timeout = Some(Duration::from_nanos(nanoseconds));
            // SAFETY: by the contract of this function, both point to valid objects that live as long as the call.
            wait(unsafe { at(condition) }, unsafe { at(lock) }, timeout)
        }

        /// Waits for a notification until this time of `CLOCK_MONOTONIC` at most; returns 0, `ETIMEDOUT` or `EINVAL`.
        ///
        /// # Safety
        ///
        /// `condition` and `lock` point to objects of their types that are all zero or used only by these functions.
        /// The caller holds the lock. `deadline` points to a time.
        #[unsafe(export_name = concat!("ulocks_", stringify!($until)))]
        pub unsafe extern "C" fn $until(
            condition: *const Condvar<$scope>,
            lock: *const Adaptive<$scope, NoCount>,
            deadline: *const timespec,
        ) -> c_int {
            // SAFETY: by the contract of this function, all three point to valid objects that live as long as the
            // call.
            let (condition, lock, remaining) = unsafe { (at(condition), at(lock), remaining(at(deadline))) };
            remaining.map_or(libc::EINVAL, |time| wait(condition, lock, Some(time)))
        }

        /// Wakes the thread that has waited longest.
        ///
        /// # Safety
        ///
        /// `condition` points to a condition variable of this type that is all zero or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($signal)))]
        pub unsafe extern "C" fn $signal(condition: *const Condvar<$scope>) {
            // SAFETY: by the contract of this function, it points to a condition variable that lives as long as the
            // call.
            unsafe { at(condition) }.notify_one();
        }

        /// Wakes all waiting threads.
        ///
        /// # Safety
        ///
        /// `condition` points to a condition variable of this type that is all zero or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($broadcast)))]
        pub unsafe extern "C" fn $broadcast(condition: *const Condvar<$scope>) {
            // SAFETY: by the contract of this function, it points to a condition variable that lives as long as the
            // call.
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

/// Calls `work` if no thread has called it through `once`, or waits until that call has returned.
///
/// # Safety
///
/// `once` points to an object of this type that is all zero or used only by this function; `work` may be called.
#[unsafe(export_name = "ulocks_uonce_call")]
pub unsafe extern "C" fn uonce_call(once: *const Once<Private>, work: unsafe extern "C" fn()) {
    // SAFETY: by the contract of this function, `once` points to a valid object, and `work` may be called.
    unsafe { at(once) }.call_once(|| unsafe { work() });
}
