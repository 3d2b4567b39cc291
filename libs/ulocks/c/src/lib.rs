//! The C face of `ulocks`: what `include/ulocks.h` declares. The contract of each function is in the manual page
//! ulocks(3); here is only how it maps to Rust.
//!
//! Every function takes a pointer to a lock that the caller keeps alive. A panic cannot cross into C: it aborts.
//! Symbols begin with `ulocks_`.

mod condition;
mod deadline;
mod pointer;
mod readers;

pub use condition::*;
pub use readers::*;

use deadline::remaining;
use libc::timespec;
use pointer::{answer, at};
use std::{ffi::c_int, time::Duration};
use ulocks::{Adaptive, Calock, FutexSem, Inherited, NoCount, Pi, Private, Robust, Semaphore, Shared, Usema};

/// `lock`, `trylock`, `unlock` and, where there are timeouts, `timedlock` for one kind of lock.
macro_rules! exclusive {
    ($lock:ty, $take:ident, $try:ident, $free:ident $(, $timed:ident, $until:ident)?) => {
        /// Takes the lock.
        ///
        /// # Safety
        /// `lock` points to a lock of this kind, all zero or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($take)))]
        pub unsafe extern "C" fn $take(lock: *const $lock) {
            // SAFETY: the caller says that it is one, and keeps it alive.
            unsafe { at(lock) }.lock();
        }

        /// Takes the lock if it is free: 0, or `EBUSY`.
        ///
        /// # Safety
        /// As for locking.
        #[unsafe(export_name = concat!("ulocks_", stringify!($try)))]
        pub unsafe extern "C" fn $try(lock: *const $lock) -> c_int {
            // SAFETY: the caller says that it is one, and keeps it alive.
            answer(unsafe { at(lock) }.try_lock(), libc::EBUSY)
        }

        /// Frees the lock.
        ///
        /// # Safety
        /// As for locking, and the caller holds the lock.
        #[unsafe(export_name = concat!("ulocks_", stringify!($free)))]
        pub unsafe extern "C" fn $free(lock: *const $lock) {
            // SAFETY: the caller says that it is one, and that it holds it.
            unsafe { at(lock).unlock() };
        }

        $(
            /// Takes the lock if it becomes free within this many nanoseconds: 0, or `ETIMEDOUT`.
            ///
            /// # Safety
            /// As for locking.
            #[unsafe(export_name = concat!("ulocks_", stringify!($timed)))]
            pub unsafe extern "C" fn $timed(lock: *const $lock, nanoseconds: u64) -> c_int {
                // SAFETY: the caller says that it is one, and keeps it alive.
                let lock = unsafe { at(lock) };
                answer(lock.try_lock_for(Duration::from_nanos(nanoseconds)), libc::ETIMEDOUT)
            }

            /// Takes the lock if it becomes free before this time of `CLOCK_MONOTONIC`: 0, `ETIMEDOUT` or `EINVAL`.
            ///
            /// # Safety
            /// As for locking, and `deadline` points to a time.
            #[unsafe(export_name = concat!("ulocks_", stringify!($until)))]
            pub unsafe extern "C" fn $until(lock: *const $lock, deadline: *const timespec) -> c_int {
                // SAFETY: the caller says that they are what they must be, and keeps them alive.
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

/// The four functions of a semaphore.
macro_rules! semaphore {
    ($semaphore:ty, $take:ident, $try:ident, $timed:ident, $until:ident, $give:ident) => {
        /// Takes one.
        ///
        /// # Safety
        /// `semaphore` points to one, all zero, initialised, or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($take)))]
        pub unsafe extern "C" fn $take(semaphore: *const $semaphore) {
            // SAFETY: the caller says that it is one, and keeps it alive.
            unsafe { at(semaphore) }.acquire();
        }

        /// Takes one if there is one: 0, or `EAGAIN`.
        ///
        /// # Safety
        /// As for taking.
        #[unsafe(export_name = concat!("ulocks_", stringify!($try)))]
        pub unsafe extern "C" fn $try(semaphore: *const $semaphore) -> c_int {
            // SAFETY: the caller says that it is one, and keeps it alive.
            answer(unsafe { at(semaphore) }.try_acquire(), libc::EAGAIN)
        }

        /// Takes one if there is one within this many nanoseconds: 0, or `ETIMEDOUT`.
        ///
        /// # Safety
        /// As for taking.
        #[unsafe(export_name = concat!("ulocks_", stringify!($timed)))]
        pub unsafe extern "C" fn $timed(semaphore: *const $semaphore, nanoseconds: u64) -> c_int {
            // SAFETY: the caller says that it is one, and keeps it alive.
            let taken = unsafe { at(semaphore) }.acquire_for(Duration::from_nanos(nanoseconds));
            answer(taken, libc::ETIMEDOUT)
        }

        /// Takes one if there is one before this time of `CLOCK_MONOTONIC`: 0, `ETIMEDOUT` or `EINVAL`.
        ///
        /// # Safety
        /// As for taking, and `deadline` points to a time.
        #[unsafe(export_name = concat!("ulocks_", stringify!($until)))]
        pub unsafe extern "C" fn $until(semaphore: *const $semaphore, deadline: *const timespec) -> c_int {
            // SAFETY: the caller says that they are what they must be, and keeps them alive.
            let (semaphore, remaining) = unsafe { (at(semaphore), remaining(at(deadline))) };
            remaining.map_or(libc::EINVAL, |time| answer(semaphore.acquire_for(time), libc::ETIMEDOUT))
        }

        /// Gives one.
        ///
        /// # Safety
        /// As for taking.
        #[unsafe(export_name = concat!("ulocks_", stringify!($give)))]
        pub unsafe extern "C" fn $give(semaphore: *const $semaphore) {
            // SAFETY: the caller says that it is one, and keeps it alive.
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

/// What the last owner left: 0, or `EOWNERDEAD`; `otherwise` if the lock was not taken.
fn inheritance(inherited: Option<Inherited>, otherwise: c_int) -> c_int {
    match inherited {
        Some(Inherited::Clean) => 0,
        Some(Inherited::OwnerDied) => libc::EOWNERDEAD,
        None => otherwise,
    }
}

/// Takes the lock: 0, or `EOWNERDEAD` if it was taken from a dead owner.
///
/// # Safety
/// `lock` points to a robust lock, all zero or used only by these functions.
#[unsafe(export_name = "ulocks_robust_ulock_lock")]
pub unsafe extern "C" fn robust_ulock_lock(lock: *const Robust<Shared, NoCount>) -> c_int {
    // SAFETY: the caller says that it is one, and keeps it alive.
    inheritance(Some(unsafe { at(lock) }.lock()), 0)
}

/// Acquires the lock if it is free: 0, `EOWNERDEAD` if it was acquired from a dead owner, or `EBUSY`.
///
/// # Safety
/// As for locking.
#[unsafe(export_name = "ulocks_robust_ulock_trylock")]
pub unsafe extern "C" fn robust_ulock_trylock(lock: *const Robust<Shared, NoCount>) -> c_int {
    // SAFETY: the caller says that it is one, and keeps it alive.
    inheritance(unsafe { at(lock) }.try_lock(), libc::EBUSY)
}

/// Takes the lock if it becomes free, or its owner dies, within this many nanoseconds: 0, `EOWNERDEAD` or `ETIMEDOUT`.
///
/// # Safety
/// As for locking.
#[unsafe(export_name = "ulocks_robust_ulock_timedlock")]
pub unsafe extern "C" fn robust_ulock_timedlock(lock: *const Robust<Shared, NoCount>, nanoseconds: u64) -> c_int {
    // SAFETY: the caller says that it is one, and keeps it alive.
    let inherited = unsafe { at(lock) }.try_lock_for(Duration::from_nanos(nanoseconds));
    inheritance(inherited, libc::ETIMEDOUT)
}

/// Takes the lock if it becomes free, or its owner dies, before this time of `CLOCK_MONOTONIC`: 0, `EOWNERDEAD`,
/// `ETIMEDOUT` or `EINVAL`.
///
/// # Safety
/// As for locking, and `deadline` points to a time.
#[unsafe(export_name = "ulocks_robust_ulock_lock_until")]
pub unsafe extern "C" fn robust_ulock_lock_until(
    lock: *const Robust<Shared, NoCount>,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller says that they are what they must be, and keeps them alive.
    let (lock, remaining) = unsafe { (at(lock), remaining(at(deadline))) };
    remaining.map_or(libc::EINVAL, |time| inheritance(lock.try_lock_for(time), libc::ETIMEDOUT))
}

/// Whether an owner died and nobody has said since that the data is whole: 1, or 0.
///
/// # Safety
/// As for locking.
#[unsafe(export_name = "ulocks_robust_ulock_is_suspect")]
pub unsafe extern "C" fn robust_ulock_is_suspect(lock: *const Robust<Shared, NoCount>) -> c_int {
    // SAFETY: the caller says that it is one, and keeps it alive.
    c_int::from(unsafe { at(lock) }.is_suspect())
}

/// Says that the data is whole again after `EOWNERDEAD`.
///
/// # Safety
/// As for locking.
#[unsafe(export_name = "ulocks_robust_ulock_consistent")]
pub unsafe extern "C" fn robust_ulock_consistent(lock: *const Robust<Shared, NoCount>) {
    // SAFETY: the caller says that it is one, and keeps it alive.
    unsafe { at(lock) }.mark_consistent();
}

/// Frees the lock.
///
/// # Safety
/// As for locking, and the caller holds the lock.
#[unsafe(export_name = "ulocks_robust_ulock_unlock")]
pub unsafe extern "C" fn robust_ulock_unlock(lock: *const Robust<Shared, NoCount>) {
    // SAFETY: the caller says that it holds it.
    unsafe { at(lock).unlock() };
}
