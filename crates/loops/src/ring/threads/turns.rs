//! No blocking at all: a thread that has no token gives its turn away.

use super::mailbox::Mailbox;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const EMPTY: u64 = u64::MAX;

/// A token that is looked for again and again.
pub struct Yield(AtomicU64);

impl Mailbox for Yield {
    fn new() -> io::Result<Self> {
        Ok(Self(AtomicU64::new(EMPTY)))
    }

    fn put(&self, token: u64) -> io::Result<()> {
        self.0.store(token, Ordering::Release);
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        while self.0.load(Ordering::Relaxed) == EMPTY {
            rustix::thread::sched_yield();
        }
        Ok(self.0.swap(EMPTY, Ordering::Acquire))
    }
}
