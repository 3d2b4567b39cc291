//! The functions that many locks have, by their shape: what they are called with, and what is done with that.
//!
//! Each makes the function of this name, which passes its call site on, and the one that does the work.

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

/// The same for mutexes: a free one is taken here ([`free_mutex`](crate::preload::free_mutex)), without a call.
macro_rules! takes_mutex {
    ($name:ident, $attempt:ident, $kind:expr, $busy:expr) => {
        const _: () = {
            use crate::preload::{entry::entry, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, 1);

            extern "C" fn work(lock: *mut c_void, site: usize) -> c_int {
                take_free(lock, site, $kind).unwrap_or_else(|| otherwise(lock, site))
            }

            #[inline(never)]
            fn otherwise(lock: *mut c_void, site: usize) -> c_int {
                take_free_within(lock, site, $kind).unwrap_or_else(|| by_calls(lock, site))
            }

            #[inline(never)]
            fn by_calls(lock: *mut c_void, site: usize) -> c_int {
                // SAFETY: as in `takes`.
                let tried = move || unsafe { next::$attempt()(lock) };
                // SAFETY: as in `takes`.
                take(lock, site, $kind, $busy, tried, move || unsafe { next::$name()(lock) })
            }
        };
    };
}

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
