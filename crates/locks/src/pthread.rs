//! The C library's mutex: default, adaptive, priority-inheriting, robust, shared between processes.

use crate::lock::Lock;
use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;

/// A mutex of a type (`KIND`) and a protocol, robust or not, for one process or several.
pub struct Pthread<const KIND: i32, const INHERIT: bool, const ROBUST: bool, const SHARED: bool>(
    UnsafeCell<libc::pthread_mutex_t>,
);

const PLAIN: i32 = libc::PTHREAD_MUTEX_DEFAULT;

pub type Default = Pthread<PLAIN, false, false, false>;
#[cfg(target_env = "gnu")]
pub type Adaptive = Pthread<{ libc::PTHREAD_MUTEX_ADAPTIVE_NP }, false, false, false>;
pub type Pi<const SHARED: bool> = Pthread<PLAIN, true, false, SHARED>;
pub type Robust<const SHARED: bool> = Pthread<PLAIN, false, true, SHARED>;
pub type Shared = Pthread<PLAIN, false, false, true>;

// SAFETY: a pthread mutex is made to be used by all threads of a process, and with SHARED by other processes.
unsafe impl<const K: i32, const I: bool, const R: bool, const S: bool> Sync for Pthread<K, I, R, S> {}
// SAFETY: a free mutex has no tie to the thread that made it.
unsafe impl<const K: i32, const I: bool, const R: bool, const S: bool> Send for Pthread<K, I, R, S> {}

pub struct Guard<'a>(&'a UnsafeCell<libc::pthread_mutex_t>);

impl<const KIND: i32, const INHERIT: bool, const ROBUST: bool, const SHARED: bool> Lock
    for Pthread<KIND, INHERIT, ROBUST, SHARED>
{
    type Guard<'a> = Guard<'a>;

    fn create() -> io::Result<Self> {
        Ok(Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)))
    }

    fn settle(&mut self) -> io::Result<()> {
        let mut attributes = MaybeUninit::uninit();
        let attributes = attributes.as_mut_ptr();
        // SAFETY: the attributes are initialised before they are used and destroyed after; the mutex is where it will
        // stay, and no thread uses it yet, since `self` is borrowed exclusively.
        unsafe {
            check(libc::pthread_mutexattr_init(attributes))?;
            let made = check(libc::pthread_mutexattr_settype(attributes, KIND))
                .and_then(|()| check(libc::pthread_mutexattr_setpshared(attributes, i32::from(SHARED))))
                .and_then(|()| check(libc::pthread_mutexattr_setprotocol(attributes, i32::from(INHERIT))))
                .and_then(|()| check(libc::pthread_mutexattr_setrobust(attributes, i32::from(ROBUST))))
                .and_then(|()| check(libc::pthread_mutex_init(self.0.get(), attributes)));
            libc::pthread_mutexattr_destroy(attributes);
            made
        }
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        // SAFETY: the mutex is initialised, by its initialiser or by `settle`, and lives as long as `self`.
        let outcome = unsafe { libc::pthread_mutex_lock(self.0.get()) };
        debug_assert_eq!(outcome, 0);
        Guard(&self.0)
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard's thread holds the mutex.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

impl<const K: i32, const I: bool, const R: bool, const S: bool> Drop for Pthread<K, I, R, S> {
    fn drop(&mut self) {
        // SAFETY: no guard is left, since each borrows `self`.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

fn check(outcome: i32) -> io::Result<()> {
    if outcome == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(outcome)) }
}
