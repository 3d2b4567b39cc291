//! A user-supplied lock in Rust: a word that is 1 while a thread has the lock, and whose waiters spin, then yield.
//!
//! ```text
//! cargo build --release -p contend-locks --example own_lock
//! contend latency --lock ./target/release/examples/libown_lock.so,std
//! ```
//!
//! A lock in a separate crate has the crate type `cdylib`, and the six names are the same: `include/contend_lock.h`
//! says what they promise.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

/// The word of the lock: 0 if it is free, 1 if a thread has it.
type Word = AtomicU32;

#[unsafe(no_mangle)]
pub static contend_lock_version: u32 = 1;
#[unsafe(no_mangle)]
pub static contend_lock_size: usize = size_of::<Word>();

/// Makes the lock: zeroed memory is the free lock.
#[unsafe(no_mangle)]
pub extern "C" fn contend_lock_init(_lock: *mut c_void) -> c_int {
    0
}

/// # Safety
/// `lock` is the lock that was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn contend_lock_acquire(lock: *mut c_void) {
    // SAFETY: the lock is at this address from init to destroy, aligned, and is only ever used as this atomic word.
    let word = unsafe { &*lock.cast::<Word>() };
    let mut tries = 0_u32;
    // Acquire: the next holder sees the writes of the last one.
    while word.load(Ordering::Relaxed) == 1 || word.swap(1, Ordering::Acquire) == 1 {
        tries += 1;
        if tries.is_multiple_of(100) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

/// # Safety
/// `lock` is the lock that was made, and the caller has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn contend_lock_release(lock: *mut c_void) {
    // SAFETY: the lock is at this address from init to destroy, aligned, and is only ever used as this atomic word.
    // Release: the holder's writes come before the word is 0.
    unsafe { &*lock.cast::<Word>() }.store(0, Ordering::Release);
}

#[unsafe(no_mangle)]
pub extern "C" fn contend_lock_destroy(_lock: *mut c_void) {}
