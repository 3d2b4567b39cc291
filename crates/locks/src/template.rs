//! The lock to copy: a flag that spins. CONTRIBUTING.md walks through it; it is built with the feature `template` only.

use crate::lock::Lock;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is true while a thread holds the lock.
pub struct Flag(AtomicBool);

/// A guard that releases the lock when it is dropped.
pub struct Guard<'a>(&'a AtomicBool);

impl Lock for Flag {
    type Guard<'a> = Guard<'a>;

    fn create() -> io::Result<Self> {
        Ok(Self(AtomicBool::new(false)))
    }

    #[inline(always)]
    fn lock(&self) -> Guard<'_> {
        // Acquire: the next holder sees the writes of the last one.
        while self.0.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        Guard(&self.0)
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
