//! `pthread_create` and `pthread_join`: passed on, and noted; or delayed, where sections are virtually shorter.

use crate::preload::entry::entry;
use crate::preload::{kinship, local, next, what_if};
use core::ffi::{c_int, c_void};

entry!(pthread_create => create, 0);
entry!(pthread_join => join, 0);

extern "C" fn create(name: *mut c_void, attributes: *mut c_void, start: *mut c_void, argument: *mut c_void) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    let real = move || unsafe { next::pthread_create()(name, attributes, start, argument) };
    if local::is_what_if() { what_if::create(name, real) } else { kinship::create(name, real) }
}

extern "C" fn join(name: *mut c_void, result: *mut c_void) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    let real = move || unsafe { next::pthread_join()(name, result) };
    if local::is_what_if() { what_if::join(name, real) } else { kinship::join(name, real) }
}
