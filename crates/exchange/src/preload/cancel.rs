//! Waits in which a thread can be cancelled.

use crate::c::{self, Cleanup, PTHREAD_CANCEL_ASYNCHRONOUS};
use core::ffi::{c_int, c_void};

/// Runs `wait`, during which the thread can be cancelled: then `undo` is called with `argument` before the thread's own
/// handlers.
///
/// # Safety
/// `wait` makes a system call and nothing that must not be left half done, since it is left at any point; `undo` takes
/// such an argument, which lives as long as the call.
#[inline(never)]
pub unsafe fn cancellably<T>(
    undo: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    wait: impl FnOnce() -> T,
) -> T {
    let at_any_point = || {
        let mut before: c_int = 0;
        // SAFETY: asynchronous cancellation is allowed in `wait`, by the caller's promise, until the type is restored.
        unsafe {
            c::pthread_testcancel();
            c::pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &raw mut before);
        }
        let result = wait();
        // SAFETY: the call restores the type that this thread had before.
        unsafe { c::pthread_setcanceltype(before, core::ptr::null_mut()) };
        result
    };
    // SAFETY: the caller promises that `undo` takes this argument, which lives as long as the call.
    unsafe { undone(undo, argument, at_any_point) }
}

/// Runs `wait`; if it is cancelled, `undo` is called with `argument` before the thread's own handlers.
///
/// # Safety
/// `undo` takes such an argument, which lives as long as the call.
#[inline(never)]
pub unsafe fn undone<T>(undo: unsafe extern "C" fn(*mut c_void), argument: *mut c_void, wait: impl FnOnce() -> T) -> T {
    let mut cleanup = Cleanup::new();
    // SAFETY: the entry that is linked to the thread here is unlinked below, or by the C library as the thread leaves
    // this function; it is on this thread's stack.
    unsafe { c::_pthread_cleanup_push(&raw mut cleanup, undo, argument) };
    let result = wait();
    // SAFETY: the entry was linked above, and is the last that this thread linked.
    unsafe { c::_pthread_cleanup_pop(&raw mut cleanup, 0) };
    result
}
