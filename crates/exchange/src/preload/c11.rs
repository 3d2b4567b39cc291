//! C11's `mtx_*` and `cnd_*`: the same objects under other names, with different numbers.

use super::cond::{
    pthread_cond_broadcast, pthread_cond_destroy, pthread_cond_signal, pthread_cond_timedwait, pthread_cond_wait,
};
use super::mutex::{
    pthread_mutex_destroy, pthread_mutex_lock, pthread_mutex_timedlock, pthread_mutex_trylock, pthread_mutex_unlock,
};
use crate::c::{EBUSY, ETIMEDOUT, Timespec};
use core::ffi::{c_int, c_void};

/// Converts an error's number to C11's.
fn c11_code(code: c_int) -> c_int {
    const SUCCESS: c_int = 0;
    const BUSY: c_int = 1;
    const ERROR: c_int = 2;
    const TIMED_OUT: c_int = 4;
    match code {
        0 => SUCCESS,
        EBUSY => BUSY,
        ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

/// Defines a C11 function: `of!(C11's name, POSIX's name, arguments)`.
macro_rules! of {
    ($name:ident, $posix:ident $(, $letter:ident: $argument:ty)*) => {
        #[cfg_attr(preload, unsafe(no_mangle))]
        extern "C" fn $name(object: *mut c_void $(, $letter: $argument)*) -> c_int {
            c11_code($posix(object $(, $letter)*))
        }
    };
}

of!(mtx_lock, pthread_mutex_lock);
of!(mtx_trylock, pthread_mutex_trylock);
of!(mtx_timedlock, pthread_mutex_timedlock, time: *const Timespec);
of!(mtx_unlock, pthread_mutex_unlock);
of!(cnd_wait, pthread_cond_wait, mutex: *mut c_void);
of!(cnd_timedwait, pthread_cond_timedwait, mutex: *mut c_void, time: *const Timespec);
of!(cnd_signal, pthread_cond_signal);
of!(cnd_broadcast, pthread_cond_broadcast);

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn mtx_destroy(mutex: *mut c_void) {
    pthread_mutex_destroy(mutex);
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn cnd_destroy(cond: *mut c_void) {
    pthread_cond_destroy(cond);
}
