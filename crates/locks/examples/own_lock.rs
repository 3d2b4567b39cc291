//! A lock of one's own in Rust: a word that is 1 while somebody has the lock, and whose waiters spin, then yield.
//!
//! ```text
//! cargo build --release -p contend-locks --example own_lock
//! contend latency --lock ./target/release/examples/libown_lock.so,std
//! ```
//!
//! Of a lock in a crate of its own the type is `cdylib`, and the six names are the same: `include/contend_lock.h` says
//! what they promise.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

/// 0: free; 1: somebody has it.
type Word = AtomicU32;

#[unsafe(no_mangle)]
pub static contend_lock_version: u32 = 1;
#[unsafe(no_mangle)]
pub static contend_lock_size: usize = size_of::<Word>();

/// Zeroed memory is the free lock.
#[unsafe(no_mangle)]
pub extern "C" fn contend_lock_init(_lock: *mut c_void) -> c_int {
    0
}

/// # Safety
/// `lock` is the lock that was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn contend_lock_acquire(lock: *mut c_void) {
    // SAFETY: the lock lies there from init to destroy, aligned, and is only ever used as this atomic word.
    let word = unsafe { &*lock.cast::<Word>() };
    let mut tries = 0_u32;
    // Acquire: what the last holder wrote is seen by the next.
    while word.load(Ordering::Relaxed) == 1 || word.swap(1, Ordering::Acquire) == 1 {
        tries += 1;
        if tries.is_multiple_of(100) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

/// # Safety
/// `lock` is the lock that was made, and the caller has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn contend_lock_release(lock: *mut c_void) {
    // SAFETY: as in `contend_lock_acquire`. Release: what the holder wrote comes before the word is 0.
    unsafe { &*lock.cast::<Word>() }.store(0, Ordering::Release);
}

#[unsafe(no_mangle)]
pub extern "C" fn contend_lock_destroy(_lock: *mut c_void) {}
