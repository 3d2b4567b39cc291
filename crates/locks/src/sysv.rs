//! A System V semaphore used as a lock: the one that 1998 calls "the semaphore".

use crate::lock::Lock;
use std::io;
use ulocks::SysvSem;

pub struct Sysv(SysvSem);

pub struct Guard<'a>(&'a SysvSem);

impl Lock for Sysv {
    type Guard<'a> = Guard<'a>;

    fn create() -> io::Result<Self> {
        SysvSem::new(1).map(Self)
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.0.lock();
        Guard(&self.0)
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.unlock();
    }
}
