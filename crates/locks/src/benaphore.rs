//! Benaphores: an atomic counter, and a semaphore for when it is contended.

use crate::lock::Lock;
use crate::posix::Posix;
use std::io;
use ulocks::{Benaphore, Count, Counted, Counts, Semaphore, SysvSem};

pub type OverSysv = Over<SysvSem>;
pub type OverPosix<const SHARED: bool> = Over<Posix<SHARED>>;

/// A benaphore over the semaphore `S`.
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

pub struct Guard<'a, S: Semaphore>(&'a Benaphore<S, Counted>);

impl<S: Empty + Sync + Send + 'static> Lock for Over<S> {
    type Guard<'a> = Guard<'a, S>;

    fn create() -> io::Result<Self> {
        Ok(Self(Benaphore::counting(S::empty()?)))
    }

    fn settle(&mut self) -> io::Result<()> {
        self.0.semaphore_mut().settle()
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.0.lock();
        Guard(&self.0)
    }

    fn counts(&self) -> Option<Counts> {
        Some(self.0.counts().snapshot())
    }
}

impl<S: Semaphore> Drop for Guard<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.unlock();
    }
}
