//! The functions that many locks have, by their shape: what they are called with, and what is done with that.
//!
//! Each makes the function of this name, which passes its call site on, and the one that does the work.

use crate::preload::spot::MUTEX_KIND;
use core::ffi::c_void;

/// `takes!(function, the one that tries, kind, what a try says of a lock that is taken)`.
macro_rules! takes {
    ($name:ident, $attempt:ident, $kind:expr, $busy:expr) => {
        const _: () = {
            use crate::preload::{entry::entry, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, 1);

            extern "C" fn work(lock: *mut c_void, site: usize) -> c_int {
                // SAFETY: the arguments are the program's own; who tries instead of waiting asks no more of them.
                let tried = move || unsafe { next::$attempt()(lock) };
                // SAFETY: as above.
                take(lock, site, $kind, $busy, tried, move || unsafe { next::$name()(lock) })
            }
        };
    };
}

/// The same for mutexes. While there is one thread the C library takes a free one without a locked instruction, but
/// does not try it without. That it is free is in its first word, and nobody can come between: so then it is noted
/// first, and the C library's function is where the call ends, as it would have been.
macro_rules! takes_mutex {
    ($name:ident, $attempt:ident, $kind:expr, $busy:expr) => {
        const _: () = {
            use crate::preload::{entry::entry, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, 1);

            extern "C" fn work(lock: *mut c_void, site: usize) -> c_int {
                // SAFETY: as in `takes`.
                let real = move || unsafe { next::$name()(lock) };
                if next::is_single_threaded()
                    && is_plain_and_free(lock)
                    && let Some(code) = take_free(lock, site, real)
                {
                    return code;
                }
                among_others(lock, site)
            }

            #[inline(never)]
            fn among_others(lock: *mut c_void, site: usize) -> c_int {
                // SAFETY: as in `takes`.
                let real = move || unsafe { next::$name()(lock) };
                // SAFETY: as in `takes`.
                let tried = move || unsafe { next::$attempt()(lock) };
                if next::is_single_threaded() && is_plain_and_free(lock) {
                    return take(lock, site, $kind, $busy, real, real);
                }
                take(lock, site, $kind, $busy, tried, real)
            }
        };
    };
}

/// Whether a mutex is free, and taking it cannot fail then: it is not robust, not shared between processes, and has no
/// protocol.
#[inline(always)]
pub(super) fn is_plain_and_free(mutex: *mut c_void) -> bool {
    let (word, kind) = (mutex.cast::<u32>(), (mutex.addr() + MUTEX_KIND) as *const u32);
    // SAFETY: the program gives a mutex, in which these words are.
    unsafe { word.read_volatile() == 0 && kind.read_volatile() <= MOST_OF_TYPES }
}

/// The highest of the types' numbers: default, recursive, error-checking, adaptive.
const MOST_OF_TYPES: u32 = 3;

/// The same with an end.
macro_rules! takes_until {
    ($name:ident, $attempt:ident, $kind:expr, $busy:expr) => {
        const _: () = {
            use crate::preload::{entry::entry, external::Timespec, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, 2);

            extern "C" fn work(lock: *mut c_void, time: *const Timespec, site: usize) -> c_int {
                // SAFETY: as in `takes`.
                let tried = move || unsafe { next::$attempt()(lock) };
                // SAFETY: as in `takes`.
                take(lock, site, $kind, $busy, tried, move || unsafe { next::$name()(lock, time) })
            }
        };
    };
}

/// The same with the clock of that end.
macro_rules! takes_by_clock {
    ($name:ident, $attempt:ident, $kind:expr, $busy:expr) => {
        const _: () = {
            use crate::preload::{entry::entry, external::Timespec, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, 3);

            extern "C" fn work(lock: *mut c_void, clock: c_int, time: *const Timespec, site: usize) -> c_int {
                // SAFETY: as in `takes`.
                let tried = move || unsafe { next::$attempt()(lock) };
                // SAFETY: as in `takes`.
                take(lock, site, $kind, $busy, tried, move || unsafe { next::$name()(lock, clock, time) })
            }
        };
    };
}

/// `attempts!(function, kind, what it says of a lock that is taken)`.
macro_rules! attempts {
    ($name:ident, $kind:expr, $busy:expr) => {
        const _: () = {
            use crate::preload::{entry::entry, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, 1);

            extern "C" fn work(lock: *mut c_void, site: usize) -> c_int {
                // SAFETY: as in `takes`.
                attempt(lock, site, $kind, $busy, move || unsafe { next::$name()(lock) })
            }
        };
    };
}

/// `releases!(function)`.
macro_rules! releases {
    ($name:ident) => {
        const _: () = {
            use crate::preload::{entry::entry, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, 0);

            extern "C" fn work(lock: *mut c_void) -> c_int {
                // SAFETY: as in `takes`.
                release(lock, move || unsafe { next::$name()(lock) })
            }
        };
    };
}

/// `destroys!(function)`.
macro_rules! destroys {
    ($name:ident) => {
        const _: () = {
            use crate::preload::next;
            use core::ffi::{c_int, c_void};

            #[cfg_attr(preload, unsafe(no_mangle))]
            extern "C" fn $name(object: *mut c_void) -> c_int {
                // SAFETY: as in `takes`.
                destroy(object, move || unsafe { next::$name()(object) })
            }
        };
    };
}

pub(super) use {attempts, destroys, releases, takes, takes_by_clock, takes_mutex, takes_until};
