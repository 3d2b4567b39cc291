//! The C interface of `ulocks`, as declared in `include/ulocks.h`.
//!
//! The manual page ulocks(3) contains the contract of each function; this crate only maps the functions to Rust.
//! Every function takes a pointer to a lock that the caller keeps alive. A panic cannot cross into C: it aborts.
//! Symbols begin with `ulocks_`.

mod condition;
mod deadline;
mod pointer;
mod readers;
#[cfg(test)]
mod tests;

pub use condition::*;
pub use readers::*;

use deadline::remaining;
use libc::timespec;
use pointer::{answer, at};
use std::{ffi::c_int, time::Duration};
use ulocks::{
    Adaptive, Calock, FutexSem, Inherited, NoCount, Pi, Private, RestartableOffset, Robust, Semaphore, Shared, Usema,
};

/// The address of the offset that the inline unlock of `include/ulocks_inline.h` reads.
///
/// A program may contain a copy of this address, which never changes; it does not contain a copy of the offset.
#[doc(hidden)]
#[unsafe(export_name = "ulocks_restartable_offset")]
pub static RESTARTABLE_OFFSET: &RestartableOffset = &ulocks::RESTARTABLE_OFFSET;

/// Defines `lock`, `trylock`, `unlock` and, for locks with timeouts, `timedlock` and `lock_until` for one kind of
/// lock.
macro_rules! exclusive {
    ($lock:ty, $take:ident, $try:ident, $free:ident $(, $timed:ident, $until:ident)?) => {
        /// Acquires the lock, and waits if it is held.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is all zero or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($take)))]
        pub unsafe extern "C" fn $take(lock: *const $lock) {
            // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
            unsafe { at(lock) }.lock();
        }

        /// Acquires the lock if it is unlocked; returns 0 or `EBUSY`.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is all zero or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($try)))]
        pub unsafe extern "C" fn $try(lock: *const $lock) -> c_int {
            // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
            answer(unsafe { at(lock) }.try_lock(), libc::EBUSY)
        }

        /// Releases the lock.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is used only by these functions, and the caller holds it.
        #[unsafe(export_name = concat!("ulocks_", stringify!($free)))]
        pub unsafe extern "C" fn $free(lock: *const $lock) {
            // SAFETY: by the contract of this function, `lock` points to a lock that the caller holds.
            unsafe { at(lock).unlock() };
        }

        $(
            /// Acquires the lock if it becomes unlocked within this number of nanoseconds; returns 0 or `ETIMEDOUT`.
            ///
            /// # Safety
            ///
            /// `lock` points to a lock of this kind that is all zero or used only by these functions.
            #[unsafe(export_name = concat!("ulocks_", stringify!($timed)))]
            pub unsafe extern "C" fn $timed(lock: *const $lock, nanoseconds: u64) -> c_int {
                // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
                let lock = unsafe { at(lock) };
                answer(lock.try_lock_for(Duration::from_nanos(nanoseconds)), libc::ETIMEDOUT)
            }

            /// Acquires the lock if it becomes unlocked before this time of `CLOCK_MONOTONIC`; returns 0, `ETIMEDOUT`
            /// or `EINVAL`.
            ///
            /// # Safety
            ///
            /// `lock` points to a lock of this kind that is all zero or used only by these functions. `deadline`
            /// points to a time.
            #[unsafe(export_name = concat!("ulocks_", stringify!($until)))]
            pub unsafe extern "C" fn $until(lock: *const $lock, deadline: *const timespec) -> c_int {
                // SAFETY: by the contract of this function, both point to valid objects that live as long as the
                // call.
                let (lock, remaining) = unsafe { (at(lock), remaining(at(deadline))) };
                remaining.map_or(libc::EINVAL, |time| answer(lock.try_lock_for(time), libc::ETIMEDOUT))
            }
        )?
    };
}

exclusive!(Adaptive<Private, NoCount>, ulock_lock, ulock_trylock, ulock_unlock, ulock_timedlock, ulock_lock_until);
exclusive!(
    Adaptive<Shared, NoCount>,
    shared_ulock_lock,
    shared_ulock_trylock,
    shared_ulock_unlock,
    shared_ulock_timedlock,
    shared_ulock_lock_until
);
exclusive!(Calock<Private, NoCount>, calock_lock, calock_trylock, calock_unlock, calock_timedlock, calock_lock_until);
exclusive!(
    Calock<Shared, NoCount>,
    shared_calock_lock,
    shared_calock_trylock,
    shared_calock_unlock,
    shared_calock_timedlock,
    shared_calock_lock_until
);
exclusive!(Usema<Private, NoCount>, usema_lock, usema_trylock, usema_unlock);
exclusive!(Usema<Shared, NoCount>, shared_usema_lock, shared_usema_trylock, shared_usema_unlock);
exclusive!(Pi<Private, NoCount>, pilock_lock, pilock_trylock, pilock_unlock, pilock_timedlock, pilock_lock_until);
exclusive!(
    Pi<Shared, NoCount>,
    shared_pilock_lock,
    shared_pilock_trylock,
    shared_pilock_unlock,
    shared_pilock_timedlock,
    shared_pilock_lock_until
);

/// Defines the five functions of a semaphore.
macro_rules! semaphore {
    ($semaphore:ty, $take:ident, $try:ident, $timed:ident, $until:ident, $give:ident) => {
        /// Takes a unit, and waits if there is none.
        ///
        /// # Safety
        ///
        /// `semaphore` points to a semaphore of this kind that is all zero, initialised, or used only by these
        /// functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($take)))]
        pub unsafe extern "C" fn $take(semaphore: *const $semaphore) {
            // SAFETY: by the contract of this function, `semaphore` points to a semaphore that lives as long as the
            // call.
            unsafe { at(semaphore) }.acquire();
        }

        /// Takes a unit if one is available; returns 0 or `EAGAIN`.
        ///
        /// # Safety
        ///
        /// `semaphore` points to a semaphore of this kind that is all zero, initialised, or used only by these
        /// functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($try)))]
        pub unsafe extern "C" fn $try(semaphore: *const $semaphore) -> c_int {
            // SAFETY: by the contract of this function, `semaphore` points to a semaphore that lives as long as the
            // call.
            answer(unsafe { at(semaphore) }.try_acquire(), libc::EAGAIN)
        }

        /// Takes a unit if one becomes available within this number of nanoseconds; returns 0 or `ETIMEDOUT`.
        ///
        /// # Safety
        ///
        /// `semaphore` points to a semaphore of this kind that is all zero, initialised, or used only by these
        /// functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($timed)))]
        pub unsafe extern "C" fn $timed(semaphore: *const $semaphore, nanoseconds: u64) -> c_int {
            // SAFETY: by the contract of this function, `semaphore` points to a semaphore that lives as long as the
            // call.
            let taken = unsafe { at(semaphore) }.acquire_for(Duration::from_nanos(nanoseconds));
            answer(taken, libc::ETIMEDOUT)
        }

        /// Takes a unit if one becomes available before this time of `CLOCK_MONOTONIC`; returns 0, `ETIMEDOUT` or
        /// `EINVAL`.
        ///
        /// # Safety
        ///
        /// `semaphore` points to a semaphore of this kind that is all zero, initialised, or used only by these
        /// functions. `deadline` points to a time.
        #[unsafe(export_name = concat!("ulocks_", stringify!($until)))]
        pub unsafe extern "C" fn $until(semaphore: *const $semaphore, deadline: *const timespec) -> c_int {
            // SAFETY: by the contract of this function, both point to valid objects that live as long as the call.
            let (semaphore, remaining) = unsafe { (at(semaphore), remaining(at(deadline))) };
            remaining.map_or(libc::EINVAL, |time| answer(semaphore.acquire_for(time), libc::ETIMEDOUT))
        }

        /// Returns a unit, and wakes a thread that waits for one.
        ///
        /// # Safety
        ///
        /// `semaphore` points to a semaphore of this kind that is all zero, initialised, or used only by these
        /// functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($give)))]
        pub unsafe extern "C" fn $give(semaphore: *const $semaphore) {
            // SAFETY: by the contract of this function, `semaphore` points to a semaphore that lives as long as the
            // call.
            unsafe { at(semaphore) }.release();
        }
    };
}

semaphore!(FutexSem<Private>, usem_wait, usem_trywait, usem_timedwait, usem_wait_until, usem_post);
semaphore!(
    FutexSem<Shared>,
    shared_usem_wait,
    shared_usem_trywait,
    shared_usem_timedwait,
    shared_usem_wait_until,
    shared_usem_post
);

/// Returns the state in which the last owner left the lock, 0 or `EOWNERDEAD`, or `otherwise` if the lock was not
/// acquired.
fn inheritance(inherited: Option<Inherited>, otherwise: c_int) -> c_int {
    match inherited {
        Some(Inherited::Clean) => 0,
        Some(Inherited::OwnerDied) => libc::EOWNERDEAD,
        None => otherwise,
    }
}

/// Acquires the lock, and waits if it is held; returns 0, or `EOWNERDEAD` if the last owner died.
///
/// # Safety
///
/// `lock` points to a robust lock that is all zero or used only by these functions.
#[unsafe(export_name = "ulocks_robust_ulock_lock")]
pub unsafe extern "C" fn robust_ulock_lock(lock: *const Robust<Shared, NoCount>) -> c_int {
    // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
    inheritance(Some(unsafe { at(lock) }.lock()), 0)
}

/// Acquires the lock if it is unlocked or its owner has died; returns 0, `EOWNERDEAD` if the last owner died, or
/// `EBUSY`.
///
/// # Safety
///
/// `lock` points to a robust lock that is all zero or used only by these functions.
#[unsafe(export_name = "ulocks_robust_ulock_trylock")]
pub unsafe extern "C" fn robust_ulock_trylock(lock: *const Robust<Shared, NoCount>) -> c_int {
    // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
    inheritance(unsafe { at(lock) }.try_lock(), libc::EBUSY)
}

/// Acquires the lock if it becomes unlocked, or its owner dies, within this number of nanoseconds.
///
/// Returns 0, `EOWNERDEAD` or `ETIMEDOUT`.
///
/// # Safety
///
/// `lock` points to a robust lock that is all zero or used only by these functions.
#[unsafe(export_name = "ulocks_robust_ulock_timedlock")]
pub unsafe extern "C" fn robust_ulock_timedlock(lock: *const Robust<Shared, NoCount>, nanoseconds: u64) -> c_int {
    // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
    let inherited = unsafe { at(lock) }.try_lock_for(Duration::from_nanos(nanoseconds));
    inheritance(inherited, libc::ETIMEDOUT)
}

/// Acquires the lock if it becomes unlocked, or its owner dies, before this time of `CLOCK_MONOTONIC`.
///
/// Returns 0, `EOWNERDEAD`, `ETIMEDOUT` or `EINVAL`.
///
/// # Safety
///
/// `lock` points to a robust lock that is all zero or used only by these functions. `deadline` points to a time.
#[unsafe(export_name = "ulocks_robust_ulock_lock_until")]
pub unsafe extern "C" fn robust_ulock_lock_until(
    lock: *const Robust<Shared, NoCount>,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: by the contract of this function, both point to valid objects that live as long as the call.
    let (lock, remaining) = unsafe { (at(lock), remaining(at(deadline))) };
    remaining.map_or(libc::EINVAL, |time| inheritance(lock.try_lock_for(time), libc::ETIMEDOUT))
}

/// Returns 1 if an owner died and no thread has declared the data consistent since, otherwise 0.
///
/// # Safety
///
/// `lock` points to a robust lock that is all zero or used only by these functions.
#[unsafe(export_name = "ulocks_robust_ulock_is_suspect")]
pub unsafe extern "C" fn robust_ulock_is_suspect(lock: *const Robust<Shared, NoCount>) -> c_int {
    // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
    c_int::from(unsafe { at(lock) }.is_suspect())
}

/// Declares the data consistent again after `EOWNERDEAD`.
///
/// # Safety
///
/// `lock` points to a robust lock that is all zero or used only by these functions.
#[unsafe(export_name = "ulocks_robust_ulock_consistent")]
pub unsafe extern "C" fn robust_ulock_consistent(lock: *const Robust<Shared, NoCount>) {
    // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
    unsafe { at(lock) }.mark_consistent();
}

/// Releases the lock.
///
/// # Safety
///
/// `lock` points to a robust lock that is used only by these functions, and the caller holds it.
#[unsafe(export_name = "ulocks_robust_ulock_unlock")]
pub unsafe extern "C" fn robust_ulock_unlock(lock: *const Robust<Shared, NoCount>) {
    // SAFETY: by the contract of this function, `lock` points to a lock that the caller holds.
    unsafe { at(lock).unlock() };
}
