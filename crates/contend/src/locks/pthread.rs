//! The C library's mutex, in its default and its adaptive type.

use super::Lock;
use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;

/// A mutex of type `KIND`. Boxed, because a pthread mutex must not move once it is initialised.
pub struct Pthread<const KIND: i32>(Box<UnsafeCell<libc::pthread_mutex_t>>);

pub type Default = Pthread<{ libc::PTHREAD_MUTEX_DEFAULT }>;
pub type Adaptive = Pthread<{ libc::PTHREAD_MUTEX_ADAPTIVE_NP }>;

// SAFETY: a pthread mutex is made to be used by all threads of a process.
unsafe impl<const KIND: i32> Sync for Pthread<KIND> {}
// SAFETY: the box is its only owner, and a free mutex has no tie to the thread that made it.
unsafe impl<const KIND: i32> Send for Pthread<KIND> {}

pub struct Guard<'a, const KIND: i32>(&'a Pthread<KIND>);

impl<const KIND: i32> Lock for Pthread<KIND> {
    type Guard<'a> = Guard<'a, KIND>;

    fn create() -> io::Result<Self> {
        let mutex = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used and destroyed after; the mutex is at its final
        // address and nobody uses it yet.
        unsafe {
            check(libc::pthread_mutexattr_init(attributes.as_mut_ptr()))?;
            let made = check(libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), KIND))
                .and_then(|()| check(libc::pthread_mutex_init(mutex.get(), attributes.as_ptr())));
            libc::pthread_mutexattr_destroy(attributes.as_mut_ptr());
            made?;
        }
        Ok(Self(mutex))
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        // SAFETY: the mutex was initialised by `create` and lives as long as `self`.
        let outcome = unsafe { libc::pthread_mutex_lock(self.0.get()) };
        debug_assert_eq!(outcome, 0);
        Guard(self)
    }
}

impl<const KIND: i32> Drop for Guard<'_, KIND> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard's thread holds the mutex.
        unsafe { libc::pthread_mutex_unlock(self.0.0.get()) };
    }
}

impl<const KIND: i32> Drop for Pthread<KIND> {
    fn drop(&mut self) {
        // SAFETY: no guard is left, since each borrows `self`.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

fn check(outcome: i32) -> io::Result<()> {
    if outcome == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(outcome)) }
}
