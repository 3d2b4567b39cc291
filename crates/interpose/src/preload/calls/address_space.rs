//! `setrlimit` and its kin for the size of the address space: the memory that is recorded into, of which only the pages
//! that are used exist, does not count against the program's limit.

use crate::preload::{local, next};
use core::ffi::c_int;

const RLIMIT_AS: c_int = 9;
const INFINITY: u64 = u64::MAX;

/// `struct rlimit`: the limit, and the most that it can become.
type Limit = [u64; 2];

fn plus(limit: u64) -> u64 {
    // A limit above the memory of any machine does not limit.
    limit.saturating_add(local::memory().len() as u64)
}

fn minus(limit: u64) -> u64 {
    if limit == INFINITY { limit } else { limit.saturating_sub(local::memory().len() as u64) }
}

/// Sets a limit by `real`, which gets what is passed on.
fn set(resource: c_int, new: *const Limit, real: impl FnOnce(*const Limit) -> c_int) -> c_int {
    if resource != RLIMIT_AS || new.is_null() || local::memory().is_empty() {
        return real(new);
    }
    // SAFETY: the program gives a limit.
    let more = unsafe { new.read_unaligned() }.map(plus);
    real(&raw const more)
}

/// Corrects a limit that was read.
fn read(resource: c_int, code: c_int, old: *mut Limit) -> c_int {
    if resource == RLIMIT_AS && code == 0 && !old.is_null() {
        // SAFETY: the program gives room for a limit, and the C library has written it.
        unsafe { old.write_unaligned(old.read_unaligned().map(minus)) };
    }
    code
}

extern "C" fn set_limit(resource: c_int, new: *const Limit) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them, but for the limit.
    set(resource, new, |new| unsafe { next::setrlimit()(resource, new.cast_mut().cast()) })
}

extern "C" fn get_limit(resource: c_int, old: *mut Limit) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    read(resource, unsafe { next::getrlimit()(resource, old.cast()) }, old)
}

extern "C" fn limit_of(pid: c_int, resource: c_int, new: *const Limit, old: *mut Limit) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them, but for the limit.
    let real = |new: *const Limit| unsafe { next::prlimit()(pid, resource, new.cast_mut().cast(), old.cast()) };
    if pid != 0 && pid as u32 != local::local().pid.load(core::sync::atomic::Ordering::Relaxed) {
        return real(new);
    }
    read(resource, set(resource, new, real), old)
}

/// Defines functions of the C library's names.
macro_rules! replaced {
    ($($name:ident($($letter:ident: $argument:ty),*) => $target:ident;)*) => {$(
        #[cfg_attr(preload, unsafe(no_mangle))]
        extern "C" fn $name($($letter: $argument),*) -> c_int {
            $target($($letter),*)
        }
    )*};
}
replaced! {
    setrlimit(a: c_int, b: *const Limit) => set_limit;
    setrlimit64(a: c_int, b: *const Limit) => set_limit;
    getrlimit(a: c_int, b: *mut Limit) => get_limit;
    getrlimit64(a: c_int, b: *mut Limit) => get_limit;
    prlimit(a: c_int, b: c_int, c: *const Limit, d: *mut Limit) => limit_of;
    prlimit64(a: c_int, b: c_int, c: *const Limit, d: *mut Limit) => limit_of;
}
