//! Conversions of arguments from C and of results to C.

use std::ffi::c_int;

/// Returns the lock that the caller points to.
///
/// A debug build checks whether the pointer can be that of a lock, and aborts with a message if not.
///
/// # Safety
///
/// The pointer is to a `T` that lives as long as the call.
pub(crate) unsafe fn at<'a, T>(lock: *const T) -> &'a T {
    debug_assert!(!lock.is_null(), "a null pointer instead of a lock");
    debug_assert!(lock.is_aligned(), "a lock at {lock:p}, which is not a multiple of {}", align_of::<T>());
    // SAFETY: by the contract of this function, the pointer is to a `T` that lives as long as the call.
    unsafe { &*lock }
}

/// Returns 0 if `done`, otherwise the error number that states the reason.
pub(crate) fn answer(done: bool, otherwise: c_int) -> c_int {
    if done { 0 } else { otherwise }
}
