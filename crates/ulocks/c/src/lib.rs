//! The C face of `ulocks`: what `include/ulocks.h` declares. The contract of each function is in the manual page
//! ulocks(3); here is only how it maps to Rust.
//!
//! Every function takes a pointer to a lock that the caller keeps alive. A panic cannot cross into C: it aborts.

use std::{ffi::c_int, time::Duration};
use ulocks::{
    Adaptive, Calock, FutexSem, Inherited, NoCount, Pi, Private, Robust, RwLock, RwLockFair, Semaphore, Shared, Usema,
};

/// The lock that the caller points to. A debug build looks whether it can be one, and aborts with a message if not.
///
/// # Safety
/// There is one, and it lives as long as the call.
unsafe fn at<'a, T>(lock: *const T) -> &'a T {
    debug_assert!(!lock.is_null(), "a null pointer instead of a lock");
    debug_assert!(lock.is_aligned(), "a lock at {lock:p}, which is not a multiple of {}", align_of::<T>());
    // SAFETY: the caller says that it is one, and keeps it alive.
    unsafe { &*lock }
}

/// 0, or the error number that says why not.
fn answer(done: bool, otherwise: c_int) -> c_int {
    if done { 0 } else { otherwise }
}

/// `lock`, `trylock`, `unlock` and, where there are timeouts, `timedlock` for one kind of lock.
macro_rules! exclusive {
    ($lock:ty, $take:ident, $try:ident, $free:ident $(, $timed:ident)?) => {
        /// Takes the lock.
        ///
        /// # Safety
        /// `lock` points to a lock of this kind, all zero or used only by these functions.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $take(lock: *const $lock) {
            // SAFETY: the caller says that it is one, and keeps it alive.
            unsafe { at(lock) }.lock();
        }

        /// Takes the lock if it is free: 0, or `EBUSY`.
        ///
        /// # Safety
        /// As for locking.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $try(lock: *const $lock) -> c_int {
            // SAFETY: the caller says that it is one, and keeps it alive.
            answer(unsafe { at(lock) }.try_lock(), libc::EBUSY)
        }

        /// Frees the lock.
        ///
        /// # Safety
        /// As for locking, and the caller holds the lock.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $free(lock: *const $lock) {
            // SAFETY: the caller says that it is one, and that it holds it.
            unsafe { at(lock).unlock() };
        }

        $(
            /// Takes the lock if it becomes free within this many nanoseconds: 0, or `ETIMEDOUT`.
            ///
            /// # Safety
            /// As for locking.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $timed(lock: *const $lock, nanoseconds: u64) -> c_int {
                // SAFETY: the caller says that it is one, and keeps it alive.
                let lock = unsafe { at(lock) };
                answer(lock.try_lock_for(Duration::from_nanos(nanoseconds)), libc::ETIMEDOUT)
            }
        )?
    };
}

exclusive!(Adaptive<Private, NoCount>, ulock_lock, ulock_trylock, ulock_unlock, ulock_timedlock);
exclusive!(
    Adaptive<Shared, NoCount>,
    shared_ulock_lock,
    shared_ulock_trylock,
    shared_ulock_unlock,
    shared_ulock_timedlock
);
exclusive!(Calock<Private, NoCount>, calock_lock, calock_trylock, calock_unlock, calock_timedlock);
exclusive!(
    Calock<Shared, NoCount>,
    shared_calock_lock,
    shared_calock_trylock,
    shared_calock_unlock,
    shared_calock_timedlock
);
exclusive!(Usema<Private, NoCount>, usema_lock, usema_trylock, usema_unlock);
exclusive!(Usema<Shared, NoCount>, shared_usema_lock, shared_usema_trylock, shared_usema_unlock);
exclusive!(Pi<Private, NoCount>, pilock_lock, pilock_trylock, pilock_unlock, pilock_timedlock);
exclusive!(
    Pi<Shared, NoCount>,
    shared_pilock_lock,
    shared_pilock_trylock,
    shared_pilock_unlock,
    shared_pilock_timedlock
);

/// The six functions of a readers' lock.
macro_rules! readers {
    ($lock:ty, $rd:ident, $tryrd:ident, $rdfree:ident, $wr:ident, $trywr:ident, $wrfree:ident) => {
        /// Takes the lock for reading.
        ///
        /// # Safety
        /// `lock` points to a lock of this kind, all zero or used only by these functions.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $rd(lock: *const $lock) {
            // SAFETY: the caller says that it is one, and keeps it alive.
            unsafe { at(lock) }.lock_shared();
        }

        /// Takes the lock for reading if it can now: 0, or `EBUSY`.
        ///
        /// # Safety
        /// As for locking.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $tryrd(lock: *const $lock) -> c_int {
            // SAFETY: the caller says that it is one, and keeps it alive.
            answer(unsafe { at(lock) }.try_lock_shared(), libc::EBUSY)
        }

        /// Ends reading.
        ///
        /// # Safety
        /// As for locking, and the caller holds the lock for reading.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $rdfree(lock: *const $lock) {
            // SAFETY: the caller says so.
            unsafe { at(lock).unlock_shared() };
        }

        /// Takes the lock for writing.
        ///
        /// # Safety
        /// As for locking.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $wr(lock: *const $lock) {
            // SAFETY: the caller says that it is one, and keeps it alive.
            unsafe { at(lock) }.lock_exclusive();
        }

        /// Takes the lock for writing if it is free: 0, or `EBUSY`.
        ///
        /// # Safety
        /// As for locking.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $trywr(lock: *const $lock) -> c_int {
            // SAFETY: the caller says that it is one, and keeps it alive.
            answer(unsafe { at(lock) }.try_lock_exclusive(), libc::EBUSY)
        }

        /// Ends writing.
        ///
        /// # Safety
        /// As for locking, and the caller holds the lock for writing.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $wrfree(lock: *const $lock) {
            // SAFETY: the caller says so.
            unsafe { at(lock).unlock_exclusive() };
        }
    };
}

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

/// The four functions of a semaphore.
macro_rules! semaphore {
    ($semaphore:ty, $take:ident, $try:ident, $timed:ident, $give:ident) => {
        /// Takes one.
        ///
        /// # Safety
        /// `semaphore` points to one, all zero, initialised, or used only by these functions.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $take(semaphore: *const $semaphore) {
            // SAFETY: the caller says that it is one, and keeps it alive.
            unsafe { at(semaphore) }.acquire();
        }

        /// Takes one if there is one: 0, or `EAGAIN`.
        ///
        /// # Safety
        /// As for taking.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $try(semaphore: *const $semaphore) -> c_int {
            // SAFETY: the caller says that it is one, and keeps it alive.
            answer(unsafe { at(semaphore) }.try_acquire(), libc::EAGAIN)
        }

        /// Takes one if there is one within this many nanoseconds: 0, or `ETIMEDOUT`.
        ///
        /// # Safety
        /// As for taking.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $timed(semaphore: *const $semaphore, nanoseconds: u64) -> c_int {
            // SAFETY: the caller says that it is one, and keeps it alive.
            let taken = unsafe { at(semaphore) }.acquire_for(Duration::from_nanos(nanoseconds));
            answer(taken, libc::ETIMEDOUT)
        }

        /// Gives one.
        ///
        /// # Safety
        /// As for taking.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $give(semaphore: *const $semaphore) {
            // SAFETY: the caller says that it is one, and keeps it alive.
            unsafe { at(semaphore) }.release();
        }
    };
}

semaphore!(FutexSem<Private>, usem_wait, usem_trywait, usem_timedwait, usem_post);
semaphore!(FutexSem<Shared>, shared_usem_wait, shared_usem_trywait, shared_usem_timedwait, shared_usem_post);

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
#[unsafe(no_mangle)]
pub unsafe extern "C" fn robust_ulock_lock(lock: *const Robust<Shared, NoCount>) -> c_int {
    // SAFETY: the caller says that it is one, and keeps it alive.
    inheritance(Some(unsafe { at(lock) }.lock()), 0)
}

/// Takes the lock if it is free: 0, or `EBUSY`.
///
/// # Safety
/// As for locking.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn robust_ulock_trylock(lock: *const Robust<Shared, NoCount>) -> c_int {
    // SAFETY: the caller says that it is one, and keeps it alive.
    inheritance(unsafe { at(lock) }.try_lock(), libc::EBUSY)
}

/// Takes the lock if it becomes free, or its owner dies, within this many nanoseconds: 0, `EOWNERDEAD` or `ETIMEDOUT`.
///
/// # Safety
/// As for locking.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn robust_ulock_timedlock(lock: *const Robust<Shared, NoCount>, nanoseconds: u64) -> c_int {
    // SAFETY: the caller says that it is one, and keeps it alive.
    let inherited = unsafe { at(lock) }.try_lock_for(Duration::from_nanos(nanoseconds));
    inheritance(inherited, libc::ETIMEDOUT)
}

/// Says that the data is whole again after `EOWNERDEAD`.
///
/// # Safety
/// As for locking.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn robust_ulock_consistent(lock: *const Robust<Shared, NoCount>) {
    // SAFETY: the caller says that it is one, and keeps it alive.
    unsafe { at(lock) }.mark_consistent();
}

/// Frees the lock.
///
/// # Safety
/// As for locking, and the caller holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn robust_ulock_unlock(lock: *const Robust<Shared, NoCount>) {
    // SAFETY: the caller says that it holds it.
    unsafe { at(lock).unlock() };
}
