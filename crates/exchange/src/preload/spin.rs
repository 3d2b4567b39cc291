//! A spin lock with a lock of ours in its 4 bytes, and `pthread_spin_*`. To destroy one is nothing, for the C library as
//! for us.
//!
//! | word | meaning |
//! |---|---|
//! | 1 or less | the C library's, in any of its states, on all machines |
//! | 2 | free |
//! | 3 | held, nobody sleeps |
//! | 4 | held, somebody may sleep |
//!
//! So a lock says itself whose it is: one that was not initialised by us, or that processes may share, stays what it
//! is. POSIX has no initialiser for these but the function.
//!
//! It is `Calock`: spinning for as long as sleeping costs, then asleep, and what it says of its ordering and its
//! fairness holds here. Who sleeps is found by memory and not by address: the C library's spin locks work between
//! processes whatever they were initialised as.

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

/// The spin lock that a program points to.
///
/// # Safety
/// It is one, and lives as long as the call.
unsafe fn at<'a>(lock: *mut c_void) -> &'a Spin {
    // SAFETY: the caller says that it is one; it is as large and as aligned.
    unsafe { &*lock.cast() }
}

impl Spin {
    /// Makes it a free one of ours.
    pub fn init(&self) {
        self.0.store(FREE, Release);
    }

    /// Takes it; `false` if it is the C library's.
    #[inline(always)]
    pub fn lock(&self) -> bool {
        self.is_ours() && (self.take() || self.lock_slowly())
    }

    /// What is the C library's it is for good: to look costs less than to try it in vain, which is an atomic more.
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

    /// Takes it if it is free; `None` if it is the C library's.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<bool> {
        self.is_ours().then(|| self.take())
    }

    /// Frees it; `false` if it is the C library's.
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
