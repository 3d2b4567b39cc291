//! The kernel's number of the calling thread.

use super::{local, next};
use crate::shared::kernel;
use core::ffi::c_void;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// Returns the kernel's number of the calling thread; 0 if it is unknown.
///
/// A program that has forbidden itself system calls may not need this one. Then the number is the one that the C library
/// writes into a mutex that the thread acquires.
pub fn gettid() -> u32 {
    const OWNER: usize = 2;
    if !local::is_confined() {
        // SAFETY: the call takes nothing.
        return unsafe { kernel::call(kernel::GETTID, []) as u32 };
    }
    let mutex = [const { AtomicU32::new(0) }; 10];
    let pointer = mutex.as_ptr().cast_mut().cast::<c_void>();
    // SAFETY: a mutex of the C library is ten words, and zeros are a free one that no other thread knows.
    if unsafe { next::pthread_mutex_lock()(pointer) } != 0 {
        return 0;
    }
    let owner = mutex[OWNER].load(Relaxed);
    // SAFETY: the thread has just acquired it.
    unsafe { next::pthread_mutex_unlock()(pointer) };
    owner
}
