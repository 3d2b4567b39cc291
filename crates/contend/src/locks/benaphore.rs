//! Benaphores: an atomic counter, and a semaphore for when it is contended.

use super::Lock;
use super::posix::Posix;
use std::io;
use ulocks::{Benaphore, Semaphore, SysvSem};

pub type OverSysv = Over<SysvSem>;
pub type OverPosix = Over<Posix>;

/// A benaphore over the semaphore `S`.
pub struct Over<S: Semaphore>(Benaphore<S>);

/// A semaphore that can be made empty, as a benaphore wants it.
pub trait Empty: Semaphore + Sized {
    fn empty() -> io::Result<Self>;
}

impl Empty for SysvSem {
    fn empty() -> io::Result<Self> {
        Self::new(0)
    }
}

impl Empty for Posix {
    fn empty() -> io::Result<Self> {
        Self::with_count(0)
    }
}

pub struct Guard<'a, S: Semaphore>(&'a Benaphore<S>);

impl<S: Empty + Sync + Send + 'static> Lock for Over<S> {
    type Guard<'a> = Guard<'a, S>;

    fn create() -> io::Result<Self> {
        Ok(Self(Benaphore::new(S::empty()?)))
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.0.lock();
        Guard(&self.0)
    }
}

impl<S: Semaphore> Drop for Guard<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.unlock();
    }
}
