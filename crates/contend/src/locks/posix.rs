//! The C library's POSIX semaphore, used as a lock.

use super::Lock;
use std::cell::UnsafeCell;
use std::io;
use ulocks::Semaphore;

/// A semaphore of this process. Boxed, because it must not move once it is initialised.
pub struct Posix(Box<UnsafeCell<libc::sem_t>>);

// SAFETY: a POSIX semaphore is made to be used by all threads of a process.
unsafe impl Sync for Posix {}
// SAFETY: the box is its only owner, and the semaphore has no tie to the thread that made it.
unsafe impl Send for Posix {}

impl Posix {
    /// A semaphore that lets `count` through before it blocks.
    pub fn with_count(count: u32) -> io::Result<Self> {
        let semaphore = Box::new(UnsafeCell::new(ZEROED));
        // SAFETY: the semaphore is at its final address and nobody uses it yet.
        if unsafe { libc::sem_init(semaphore.get(), 0, count) } == 0 {
            Ok(Self(semaphore))
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

// SAFETY: sem_t is a union of bytes and an integer; all zeros is a valid value of it.
const ZEROED: libc::sem_t = unsafe { std::mem::zeroed() };

impl Drop for Posix {
    fn drop(&mut self) {
        // SAFETY: nobody can wait on it any more, since a waiter borrows `self`.
        unsafe { libc::sem_destroy(self.0.get()) };
    }
}

impl Semaphore for Posix {
    #[inline(always)]
    fn acquire(&self) {
        // A signal may interrupt the wait; it is then made again.
        // SAFETY: the semaphore was initialised by `with_count` and lives as long as `self`.
        while unsafe { libc::sem_wait(self.0.get()) } != 0 {}
    }

    #[inline(always)]
    fn try_acquire(&self) -> bool {
        // SAFETY: as in `acquire`.
        unsafe { libc::sem_trywait(self.0.get()) == 0 }
    }

    #[inline(always)]
    fn release(&self) {
        // SAFETY: as in `acquire`.
        unsafe { libc::sem_post(self.0.get()) };
    }
}

pub struct Guard<'a>(&'a Posix);

impl Lock for Posix {
    type Guard<'a> = Guard<'a>;

    fn create() -> io::Result<Self> {
        Self::with_count(1)
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.acquire();
        Guard(self)
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.release();
    }
}
