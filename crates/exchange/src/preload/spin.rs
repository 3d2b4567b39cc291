//! A spin lock with a substituted lock in its 4 bytes, and `pthread_spin_*`. Destroying one has no effect, in the C
//! library as here.
//!
//! | word | meaning |
//! |---|---|
//! | 1 or less | the C library's, in any of its states, on all machines |
//! | 2 | free |
//! | 3 | held, no thread sleeps |
//! | 4 | held, a thread may sleep |
//!
//! So a lock contains its own kind: one that was not initialised by this library, or that processes may share, stays as
//! it is. POSIX has no initialiser for these but the function.
//!
//! It is `Calock`: it spins for as long as blocking costs, and then blocks; its documented ordering and fairness apply
//! here. Waiters are found by memory and not by address: the C library's spin locks work between processes however they
//! were initialised.

use super::choice::count;
use super::{choice, locks, next};
use crate::c::{EBUSY, PTHREAD_PROCESS_SHARED};
use crate::futex::{ALL, Shared, wait, wake};
use crate::patience::{Micros, spin};
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const FREE: u32 = 2;
const HELD: u32 = 3;
const SLEPT_ON: u32 = 4;

type Patience = Micros<20>;

#[repr(transparent)]
pub struct Spin(AtomicU32);

/// Returns the spin lock that a program points to.
///
/// # Safety
/// It is one, and lives as long as the call.
unsafe fn at<'a>(lock: *mut c_void) -> &'a Spin {
    // SAFETY: the caller promises that it is one; it has the same size and alignment.
    unsafe { &*lock.cast() }
}

impl Spin {
    /// Makes it a free substituted lock.
    pub fn init(&self) {
        self.0.store(FREE, Release);
    }

    /// Acquires it; `false` if it is the C library's.
    #[inline(always)]
    pub fn lock(&self) -> bool {
        self.is_ours() && (self.take() || self.lock_slowly())
    }

    /// Returns whether it is substituted.
    ///
    /// The C library's stay so: this load costs less than a failed atomic operation.
    #[inline(always)]
    fn is_ours(&self) -> bool {
        (FREE..=SLEPT_ON).contains(&self.0.load(Relaxed))
    }

    #[inline(always)]
    fn take(&self) -> bool {
        self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn lock_slowly(&self) -> bool {
        if spin::<Patience>(|| self.0.load(Relaxed) == FREE && self.take()) {
            return true;
        }
        while self.0.swap(SLEPT_ON, Acquire) != FREE {
            wait::<Shared>(&self.0, SLEPT_ON, ALL, None);
        }
        true
    }

    /// Acquires it if it is free; `None` if it is the C library's.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<bool> {
        self.is_ours().then(|| self.take())
    }

    /// Releases it; `false` if it is the C library's.
    #[inline(always)]
    pub fn unlock(&self) -> bool {
        if !self.is_ours() {
            return false;
        }
        if self.0.swap(FREE, Release) == SLEPT_ON {
            wake::<Shared>(&self.0, 1, ALL);
        }
        true
    }
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_spin_init(lock: *mut c_void, shared: c_int) -> c_int {
    let any = locks::any();
    if any && shared != PTHREAD_PROCESS_SHARED && !choice::leaves(lock.addr()) {
        // SAFETY: the program gives a spin lock.
        unsafe { at(lock) }.init();
        return 0;
    }
    if any && shared == PTHREAD_PROCESS_SHARED {
        count(|left| &left.spins);
    }
    // SAFETY: the arguments are passed on as the program gave them.
    unsafe { next::pthread_spin_init()(lock, shared) }
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_spin_lock(lock: *mut c_void) -> c_int {
    // SAFETY: the program gives a spin lock.
    if unsafe { at(lock) }.lock() {
        return 0;
    }
    // SAFETY: the argument is passed on as the program gave it.
    unsafe { next::pthread_spin_lock()(lock) }
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_spin_trylock(lock: *mut c_void) -> c_int {
    // SAFETY: the program gives a spin lock.
    match unsafe { at(lock) }.try_lock() {
        Some(true) => 0,
        Some(false) => EBUSY,
        // SAFETY: the argument is passed on as the program gave it.
        None => unsafe { next::pthread_spin_trylock()(lock) },
    }
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_spin_unlock(lock: *mut c_void) -> c_int {
    // SAFETY: the program gives a spin lock.
    if unsafe { at(lock) }.unlock() {
        return 0;
    }
    // SAFETY: the argument is passed on as the program gave it.
    unsafe { next::pthread_spin_unlock()(lock) }
}
