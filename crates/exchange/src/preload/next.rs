//! The replaced functions, as the next object in the lookup order has them.

use crate::c::Timespec;
use crate::shared::next_object::next;
#[cfg(preload)]
use crate::shared::next_object::{__errno_location, ENOSYS};
use core::ffi::{c_int, c_uint, c_void};

type Time = *const Timespec;
type Object = *mut c_void;

next! {
    pthread_mutex_init(a: Object, b: Object);
    pthread_mutex_lock(a: Object);
    pthread_mutex_trylock(a: Object);
    pthread_mutex_timedlock(a: Object, b: Time);
    pthread_mutex_clocklock(a: Object, b: c_int, c: Time);
    pthread_mutex_unlock(a: Object);
    pthread_mutex_destroy(a: Object);
    pthread_rwlock_init(a: Object, b: Object);
    pthread_rwlock_rdlock(a: Object);
    pthread_rwlock_tryrdlock(a: Object);
    pthread_rwlock_timedrdlock(a: Object, b: Time);
    pthread_rwlock_clockrdlock(a: Object, b: c_int, c: Time);
    pthread_rwlock_wrlock(a: Object);
    pthread_rwlock_trywrlock(a: Object);
    pthread_rwlock_timedwrlock(a: Object, b: Time);
    pthread_rwlock_clockwrlock(a: Object, b: c_int, c: Time);
    pthread_rwlock_unlock(a: Object);
    pthread_spin_init(a: Object, b: c_int);
    pthread_spin_lock(a: Object);
    pthread_spin_trylock(a: Object);
    pthread_spin_unlock(a: Object);
    pthread_cond_init(a: Object, b: *const c_uint);
    pthread_cond_wait(a: Object, b: Object);
    pthread_cond_timedwait(a: Object, b: Object, c: Time);
    pthread_cond_clockwait(a: Object, b: Object, c: c_int, d: Time);
    pthread_cond_signal(a: Object);
    pthread_cond_broadcast(a: Object);
    pthread_cond_destroy(a: Object);
}

/// Looks up all of them.
pub fn find_all() {
    find_functions();
}

/// Replaces functions that the C library may lack, and that no lock needs: see the build script.
#[cfg(preload)]
#[unsafe(no_mangle)]
pub extern "C" fn ulocks_no_file() -> c_int {
    // SAFETY: the C library has such a word for every thread.
    unsafe { *__errno_location() = ENOSYS };
    -1
}
