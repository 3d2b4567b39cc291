//! Waiting where a thread can be cancelled.

use crate::c::{self, Cleanup, PTHREAD_CANCEL_ASYNCHRONOUS};
use core::ffi::{c_int, c_void};

/// Does `wait`, and can be cancelled meanwhile: then `undo` is done with `argument` before the thread's own handlers.
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
        // SAFETY: being cancelled at any point is what is wanted, until the type is as it was.
        unsafe {
            c::pthread_testcancel();
            c::pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &raw mut before);
        }
        let result = wait();
        // SAFETY: as above.
        unsafe { c::pthread_setcanceltype(before, core::ptr::null_mut()) };
        result
    };
    // SAFETY: the caller's.
    unsafe { undone(undo, argument, at_any_point) }
}

/// Does `wait`; where that is cancelled, `undo` is done with `argument` before the thread's own handlers.
///
/// # Safety
/// `undo` takes such an argument, which lives as long as the call.
#[inline(never)]
pub unsafe fn undone<T>(undo: unsafe extern "C" fn(*mut c_void), argument: *mut c_void, wait: impl FnOnce() -> T) -> T {
    let mut cleanup = Cleanup::new();
    // SAFETY: what is linked to the thread here is unlinked below, or by the C library as the thread leaves this
    // function; it lies on this thread's stack.
    unsafe { c::_pthread_cleanup_push(&raw mut cleanup, undo, argument) };
    let result = wait();
    // SAFETY: as above.
    unsafe { c::_pthread_cleanup_pop(&raw mut cleanup, 0) };
    result
}
