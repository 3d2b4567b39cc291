//! The lock to copy: a flag that spins. CONTRIBUTING.md walks through it; it is built with the feature `template` only.

use crate::lock::Lock;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// True while somebody holds it.
pub struct Flag(AtomicBool);

/// Frees the lock when it is dropped.
pub struct Guard<'a>(&'a AtomicBool);

impl Lock for Flag {
    type Guard<'a> = Guard<'a>;

    fn create() -> io::Result<Self> {
        Ok(Self(AtomicBool::new(false)))
    }

    #[inline(always)]
    fn lock(&self) -> Guard<'_> {
        // Acquire: what the last holder wrote is seen by the next.
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
