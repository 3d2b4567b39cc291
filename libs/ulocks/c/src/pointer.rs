//! What comes from C, and what goes back.

use std::ffi::c_int;

/// The lock that the caller points to. A debug build looks whether it can be one, and aborts with a message if not.
///
/// # Safety
/// There is one, and it lives as long as the call.
pub(crate) unsafe fn at<'a, T>(lock: *const T) -> &'a T {
    debug_assert!(!lock.is_null(), "a null pointer instead of a lock");
    debug_assert!(lock.is_aligned(), "a lock at {lock:p}, which is not a multiple of {}", align_of::<T>());
    // SAFETY: the caller says that it is one, and keeps it alive.
    unsafe { &*lock }
}

/// 0, or the error number that says why not.
pub(crate) fn answer(done: bool, otherwise: c_int) -> c_int {
    if done { 0 } else { otherwise }
}
