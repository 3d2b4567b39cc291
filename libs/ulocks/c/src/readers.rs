//! The reader-writer locks.

use crate::{
    deadline::remaining,
    pointer::{answer, at},
};
use libc::timespec;
use std::{ffi::c_int, time::Duration};
use ulocks::{AdaptiveRw, NoCount, Private, RwLock, RwLockFair, Shared};

/// Defines the six functions of a reader-writer lock.
macro_rules! readers {
    ($lock:ty, $rd:ident, $tryrd:ident, $rdfree:ident, $wr:ident, $trywr:ident, $wrfree:ident) => {
        /// Acquires the lock for reading, and waits until that is possible.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is all zero or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($rd)))]
        pub unsafe extern "C" fn $rd(lock: *const $lock) {
            // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
            unsafe { at(lock) }.lock_shared();
        }

        /// Acquires the lock for reading if that is possible now; returns 0 or `EBUSY`.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is all zero or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($tryrd)))]
        pub unsafe extern "C" fn $tryrd(lock: *const $lock) -> c_int {
            // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
            answer(unsafe { at(lock) }.try_lock_shared(), libc::EBUSY)
        }

        /// Releases a shared acquisition.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is used only by these functions, and the caller holds it for
        /// reading.
        #[unsafe(export_name = concat!("ulocks_", stringify!($rdfree)))]
        pub unsafe extern "C" fn $rdfree(lock: *const $lock) {
            // SAFETY: by the contract of this function, `lock` points to a lock that the caller holds for reading.
            unsafe { at(lock).unlock_shared() };
        }

        /// Acquires the lock for writing, and waits until that is possible.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is all zero or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($wr)))]
        pub unsafe extern "C" fn $wr(lock: *const $lock) {
            // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
            unsafe { at(lock) }.lock_exclusive();
        }

        /// Acquires the lock for writing if it is unlocked; returns 0 or `EBUSY`.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is all zero or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($trywr)))]
        pub unsafe extern "C" fn $trywr(lock: *const $lock) -> c_int {
            // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
            answer(unsafe { at(lock) }.try_lock_exclusive(), libc::EBUSY)
        }

        /// Releases the exclusive acquisition.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is used only by these functions, and the caller holds it for
        /// writing.
        #[unsafe(export_name = concat!("ulocks_", stringify!($wrfree)))]
        pub unsafe extern "C" fn $wrfree(lock: *const $lock) {
            // SAFETY: by the contract of this function, `lock` points to a lock that the caller holds for writing.
            unsafe { at(lock).unlock_exclusive() };
        }
    };
}

/// Defines `timedrdlock`, `rdlock_until`, `timedwrlock` and `wrlock_until` of a reader-writer lock with timeouts.
macro_rules! timed_readers {
    ($lock:ty, $timedrd:ident, $rduntil:ident, $timedwr:ident, $wruntil:ident) => {
        /// Acquires the lock for reading if that is possible within this number of nanoseconds; returns 0 or
        /// `ETIMEDOUT`.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is all zero or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($timedrd)))]
        pub unsafe extern "C" fn $timedrd(lock: *const $lock, nanoseconds: u64) -> c_int {
            // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
            let lock = unsafe { at(lock) };
            answer(lock.try_lock_shared_for(Duration::from_nanos(nanoseconds)), libc::ETIMEDOUT)
        }

        /// Acquires the lock for reading if that is possible before this time of `CLOCK_MONOTONIC`; returns 0,
        /// `ETIMEDOUT` or `EINVAL`.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is all zero or used only by these functions. `deadline` points
        /// to a time.
        #[unsafe(export_name = concat!("ulocks_", stringify!($rduntil)))]
        pub unsafe extern "C" fn $rduntil(lock: *const $lock, deadline: *const timespec) -> c_int {
            // SAFETY: by the contract of this function, both point to valid objects that live as long as the call.
            let (lock, remaining) = unsafe { (at(lock), remaining(at(deadline))) };
            remaining.map_or(libc::EINVAL, |time| answer(lock.try_lock_shared_for(time), libc::ETIMEDOUT))
        }

        /// Acquires the lock for writing if it becomes unlocked within this number of nanoseconds; returns 0 or
        /// `ETIMEDOUT`.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is all zero or used only by these functions.
        #[unsafe(export_name = concat!("ulocks_", stringify!($timedwr)))]
        pub unsafe extern "C" fn $timedwr(lock: *const $lock, nanoseconds: u64) -> c_int {
            // SAFETY: by the contract of this function, `lock` points to a lock that lives as long as the call.
            let lock = unsafe { at(lock) };
            answer(lock.try_lock_exclusive_for(Duration::from_nanos(nanoseconds)), libc::ETIMEDOUT)
        }

        /// Acquires the lock for writing if it becomes unlocked before this time of `CLOCK_MONOTONIC`; returns 0,
        /// `ETIMEDOUT` or `EINVAL`.
        ///
        /// # Safety
        ///
        /// `lock` points to a lock of this kind that is all zero or used only by these functions. `deadline` points
        /// to a time.
        #[unsafe(export_name = concat!("ulocks_", stringify!($wruntil)))]
        pub unsafe extern "C" fn $wruntil(lock: *const $lock, deadline: *const timespec) -> c_int {
            // SAFETY: by the contract of this function, both point to valid objects that live as long as the call.
            let (lock, remaining) = unsafe { (at(lock), remaining(at(deadline))) };
            remaining.map_or(libc::EINVAL, |time| answer(lock.try_lock_exclusive_for(time), libc::ETIMEDOUT))
        }
    };
}

readers!(
    AdaptiveRw<Private, NoCount>,
    urw_rdlock,
    urw_tryrdlock,
    urw_rdunlock,
    urw_wrlock,
    urw_trywrlock,
    urw_wrunlock
);
timed_readers!(
    AdaptiveRw<Private, NoCount>,
    urw_timedrdlock,
    urw_rdlock_until,
    urw_timedwrlock,
    urw_wrlock_until
);
readers!(
    AdaptiveRw<Shared, NoCount>,
    shared_urw_rdlock,
    shared_urw_tryrdlock,
    shared_urw_rdunlock,
    shared_urw_wrlock,
    shared_urw_trywrlock,
    shared_urw_wrunlock
);
timed_readers!(
    AdaptiveRw<Shared, NoCount>,
    shared_urw_timedrdlock,
    shared_urw_rdlock_until,
    shared_urw_timedwrlock,
    shared_urw_wrlock_until
);
readers!(
    RwLock<Private, NoCount>,
    urwlock_rdlock,
    urwlock_tryrdlock,
    urwlock_rdunlock,
    urwlock_wrlock,
    urwlock_trywrlock,
    urwlock_wrunlock
);
readers!(
    RwLock<Shared, NoCount>,
    shared_urwlock_rdlock,
    shared_urwlock_tryrdlock,
    shared_urwlock_rdunlock,
    shared_urwlock_wrlock,
    shared_urwlock_trywrlock,
    shared_urwlock_wrunlock
);
readers!(
    RwLockFair<Private, NoCount>,
    ufairlock_rdlock,
    ufairlock_tryrdlock,
    ufairlock_rdunlock,
    ufairlock_wrlock,
    ufairlock_trywrlock,
    ufairlock_wrunlock
);
readers!(
    RwLockFair<Shared, NoCount>,
    shared_ufairlock_rdlock,
    shared_ufairlock_tryrdlock,
    shared_ufairlock_rdunlock,
    shared_ufairlock_wrlock,
    shared_ufairlock_trywrlock,
    shared_ufairlock_wrunlock
);
