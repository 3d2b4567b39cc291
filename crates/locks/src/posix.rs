//! The C library's POSIX semaphore, used as a lock.

use crate::lock::Lock;
use std::cell::UnsafeCell;
use std::io;
use ulocks::Semaphore;

/// A semaphore of this process, or of all that map its memory.
pub struct Posix<const SHARED: bool>(UnsafeCell<libc::sem_t>);

// SAFETY: a POSIX semaphore is made to be used by all threads of a process, and with SHARED by other processes.
unsafe impl<const SHARED: bool> Sync for Posix<SHARED> {}
// SAFETY: the semaphore has no tie to the thread that made it.
unsafe impl<const SHARED: bool> Send for Posix<SHARED> {}

// SAFETY: sem_t is a union of bytes and an integer; all zeros is a valid value of it.
const ZEROED: libc::sem_t = unsafe { std::mem::zeroed() };

impl<const SHARED: bool> Posix<SHARED> {
    /// Returns a semaphore that must be set before it is used.
    pub const fn unset() -> Self {
        Self(UnsafeCell::new(ZEROED))
    }

    /// Lets `count` through before it blocks; called at its final address.
    pub fn set(&mut self, count: u32) -> io::Result<()> {
        // SAFETY: `self` is borrowed exclusively, so no thread uses the semaphore.
        if unsafe { libc::sem_init(self.0.get(), i32::from(SHARED), count) } == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl<const SHARED: bool> Drop for Posix<SHARED> {
    fn drop(&mut self) {
        // SAFETY: no thread can wait on the semaphore any more, since a waiter borrows `self`.
        unsafe { libc::sem_destroy(self.0.get()) };
    }
}

impl<const SHARED: bool> Semaphore for Posix<SHARED> {
    #[inline(always)]
    fn acquire(&self) {
        // A signal may interrupt the wait, which is then repeated.
        // SAFETY: the semaphore was initialised by `set` and lives as long as `self`.
        while unsafe { libc::sem_wait(self.0.get()) } != 0 {}
    }

    #[inline(always)]
    fn try_acquire(&self) -> bool {
        // SAFETY: the semaphore was initialised by `set` and lives as long as `self`.
        unsafe { libc::sem_trywait(self.0.get()) == 0 }
    }

    #[inline(always)]
    fn release(&self) {
        // SAFETY: the semaphore was initialised by `set` and lives as long as `self`.
        unsafe { libc::sem_post(self.0.get()) };
    }
}

pub struct Guard<'a, const SHARED: bool>(&'a Posix<SHARED>);

impl<const SHARED: bool> Lock for Posix<SHARED> {
    type Guard<'a> = Guard<'a, SHARED>;

    fn create() -> io::Result<Self> {
        Ok(Self::unset())
    }

    fn settle(&mut self) -> io::Result<()> {
        self.set(1)
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.acquire();
        Guard(self)
    }
}

impl<const SHARED: bool> Drop for Guard<'_, SHARED> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.release();
    }
}
