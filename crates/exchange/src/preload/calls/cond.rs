//! `pthread_cond_*`.

use super::shared_cond;
use crate::c::{CLOCK_MONOTONIC, CLOCK_REALTIME, EINVAL, Timespec};
use crate::futex::Deadline;
use crate::preload::choice::count;
use crate::preload::cond::at;
use crate::preload::{locks, next};
use core::ffi::{c_int, c_uint, c_void};

/// Whether the C library's own is to go on with it: nothing was asked for.
fn is_passed_on() -> bool {
    !locks::any()
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_cond_init(cond: *mut c_void, attributes: *const c_uint) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    let code = unsafe { next::pthread_cond_init()(cond, attributes) };
    // SAFETY: the program gives a condition variable.
    if code == 0 && locks::any() && unsafe { at(cond) }.is_theirs() {
        count(|left| &left.shared);
    }
    code
}

#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn pthread_cond_wait(cond: *mut c_void, mutex: *mut c_void) -> c_int {
    // SAFETY: the program gives a condition variable.
    let ours = unsafe { at(cond) };
    // SAFETY: the arguments are passed on as the program gave them.
    let theirs = move |mutex| unsafe { next::pthread_cond_wait()(cond, mutex) };
    match () {
        () if is_passed_on() => theirs(mutex),
        () if ours.is_theirs() => shared_cond::wait(cond, mutex, theirs),
        () => ours.wait(mutex, None),
    }
}

#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn pthread_cond_timedwait(cond: *mut c_void, mutex: *mut c_void, time: *const Timespec) -> c_int {
    // SAFETY: the program gives a condition variable.
    let ours = unsafe { at(cond) };
    // SAFETY: the arguments are passed on as the program gave them.
    let theirs = move |mutex| unsafe { next::pthread_cond_timedwait()(cond, mutex, time) };
    match () {
        () if is_passed_on() => theirs(mutex),
        () if ours.is_theirs() => shared_cond::wait(cond, mutex, theirs),
        () => wait_until(cond, mutex, ours.clock(), time),
    }
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_cond_clockwait(
    cond: *mut c_void,
    mutex: *mut c_void,
    clock: c_int,
    time: *const Timespec,
) -> c_int {
    // SAFETY: the program gives a condition variable.
    let ours = unsafe { at(cond) };
    // SAFETY: the arguments are passed on as the program gave them.
    let theirs = move |mutex| unsafe { next::pthread_cond_clockwait()(cond, mutex, clock, time) };
    match clock {
        _ if is_passed_on() => theirs(mutex),
        _ if ours.is_theirs() => shared_cond::wait(cond, mutex, theirs),
        CLOCK_REALTIME | CLOCK_MONOTONIC => wait_until(cond, mutex, clock, time),
        _ => EINVAL,
    }
}

fn wait_until(cond: *mut c_void, mutex: *mut c_void, clock: c_int, time: *const Timespec) -> c_int {
    // SAFETY: the program gives a time.
    let Some(deadline) = Deadline::given(clock, unsafe { *time }) else { return EINVAL };
    // SAFETY: the program gives a condition variable.
    unsafe { at(cond) }.wait(mutex, Some(deadline))
}

#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn pthread_cond_signal(cond: *mut c_void) -> c_int {
    // SAFETY: the argument is passed on as the program gave it.
    notify(cond, 1, move || unsafe { next::pthread_cond_signal()(cond) })
}

#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn pthread_cond_broadcast(cond: *mut c_void) -> c_int {
    // SAFETY: the argument is passed on as the program gave it.
    notify(cond, u32::MAX, move || unsafe { next::pthread_cond_broadcast()(cond) })
}

fn notify(cond: *mut c_void, most: u32, theirs: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program gives a condition variable.
    let ours = unsafe { at(cond) };
    if is_passed_on() {
        return theirs();
    }
    if ours.is_theirs() {
        return shared_cond::notify(cond, theirs);
    }
    ours.notify(most);
    0
}

#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn pthread_cond_destroy(cond: *mut c_void) -> c_int {
    // SAFETY: the program gives a condition variable.
    let ours = unsafe { at(cond) };
    if is_passed_on() || ours.is_theirs() {
        // SAFETY: the argument is passed on as the program gave it.
        return unsafe { next::pthread_cond_destroy()(cond) };
    }
    ours.destroy();
    0
}
