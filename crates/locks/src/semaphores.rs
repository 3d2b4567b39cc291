//! Semaphores used as locks: the C library's POSIX semaphore, the System V semaphore, and benaphores over both.

use crate::lock::Lock;
use std::cell::UnsafeCell;
use std::io;
use ulocks::{Benaphore, Count, Counted, Counts, Semaphore, SysvSem};

pub type OverSysv = Over<SysvSem>;
pub type OverPosix<const SHARED: bool> = Over<Posix<SHARED>>;

/// A benaphore over the semaphore `S`: an atomic counter, and the semaphore for when it is contended.
pub struct Over<S: Semaphore>(Benaphore<S, Counted>);

/// A semaphore that can be made empty, for use in a benaphore.
pub trait Empty: Semaphore + Sized {
    fn empty() -> io::Result<Self>;

    /// Initialises the semaphore at its final address.
    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Empty for SysvSem {
    fn empty() -> io::Result<Self> {
        Self::new(0)
    }
}

impl<const SHARED: bool> Empty for Posix<SHARED> {
    fn empty() -> io::Result<Self> {
        Ok(Self::unset())
    }

    fn settle(&mut self) -> io::Result<()> {
        self.set(0)
    }
}

pub struct OverGuard<'a, S: Semaphore>(&'a Benaphore<S, Counted>);

impl<S: Empty + Sync + Send + 'static> Lock for Over<S> {
    type Guard<'a> = OverGuard<'a, S>;

    fn create() -> io::Result<Self> {
        Ok(Self(Benaphore::counting(S::empty()?)))
    }

    fn settle(&mut self) -> io::Result<()> {
        self.0.semaphore_mut().settle()
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.0.lock();
        OverGuard(&self.0)
    }

    fn counts(&self) -> Option<Counts> {
        Some(self.0.counts().snapshot())
    }
}

impl<S: Semaphore> Drop for OverGuard<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.unlock();
    }
}

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

pub struct PosixGuard<'a, const SHARED: bool>(&'a Posix<SHARED>);

impl<const SHARED: bool> Lock for Posix<SHARED> {
    type Guard<'a> = PosixGuard<'a, SHARED>;

    fn create() -> io::Result<Self> {
        Ok(Self::unset())
    }

    fn settle(&mut self) -> io::Result<()> {
        self.set(1)
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.acquire();
        PosixGuard(self)
    }
}

impl<const SHARED: bool> Drop for PosixGuard<'_, SHARED> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.release();
    }
}

/// The System V semaphore: the one that 1998 calls "the semaphore".
pub struct Sysv(SysvSem);

pub struct SysvGuard<'a>(&'a SysvSem);

impl Lock for Sysv {
    type Guard<'a> = SysvGuard<'a>;

    fn create() -> io::Result<Self> {
        SysvSem::new(1).map(Self)
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.0.lock();
        SysvGuard(&self.0)
    }
}

impl Drop for SysvGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.unlock();
    }
}
