//! What stays the C library's, whatever was asked for, and is counted.
//!
//! Of the locks here for readers and writers, none may be destroyed by the next owner at once and has deadlines and
//! lets a reader come twice, as the C library's does. A spin lock has 4 bytes and is used between processes as within
//! one: nothing in it says which it is.

use crate::preload::choice::count;
use crate::preload::{locks, next};
use core::ffi::{c_int, c_void};

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_rwlock_init(lock: *mut c_void, attributes: *mut c_void) -> c_int {
    if locks::any() {
        count(|left| &left.rwlocks);
    }
    // SAFETY: the arguments are passed on as the program gave them.
    unsafe { next::pthread_rwlock_init()(lock, attributes) }
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_spin_init(lock: *mut c_void, shared: c_int) -> c_int {
    if locks::any() {
        count(|left| &left.spins);
    }
    // SAFETY: the arguments are passed on as the program gave them.
    unsafe { next::pthread_spin_init()(lock, shared) }
}
