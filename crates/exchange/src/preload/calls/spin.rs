//! `pthread_spin_*`. To destroy one is nothing, for the C library as for us.

use crate::c::{EBUSY, PTHREAD_PROCESS_SHARED};
use crate::preload::choice::count;
use crate::preload::spin::at;
use crate::preload::{locks, next, only};
use core::ffi::{c_int, c_void};

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_spin_init(lock: *mut c_void, shared: c_int) -> c_int {
    let any = locks::any();
    if any && shared != PTHREAD_PROCESS_SHARED && !only::leaves(lock.addr()) {
        // SAFETY: the program gives a spin lock.
        unsafe { at(lock) }.init();
        return 0;
    }
    if any && shared == PTHREAD_PROCESS_SHARED {
        count(|left| &left.spins);
    }
    // SAFETY: the arguments are passed on as the program gave them.
    unsafe { next::pthread_spin_init()(lock, shared) }
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_spin_lock(lock: *mut c_void) -> c_int {
    // SAFETY: the program gives a spin lock.
    if unsafe { at(lock) }.lock() {
        return 0;
    }
    // SAFETY: the argument is passed on as the program gave it.
    unsafe { next::pthread_spin_lock()(lock) }
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_spin_trylock(lock: *mut c_void) -> c_int {
    // SAFETY: the program gives a spin lock.
    match unsafe { at(lock) }.try_lock() {
        Some(true) => 0,
        Some(false) => EBUSY,
        // SAFETY: the argument is passed on as the program gave it.
        None => unsafe { next::pthread_spin_trylock()(lock) },
    }
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_spin_unlock(lock: *mut c_void) -> c_int {
    // SAFETY: the program gives a spin lock.
    if unsafe { at(lock) }.unlock() {
        return 0;
    }
    // SAFETY: the argument is passed on as the program gave it.
    unsafe { next::pthread_spin_unlock()(lock) }
}
