//! `std::thread::park` and `unpark`.

use super::Mailbox;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;

const EMPTY: u64 = u64::MAX;

/// A token, and the thread that waits for it.
pub struct Park {
    token: AtomicU64,
    waiter: OnceLock<Thread>,
}

impl Mailbox for Park {
    fn new() -> io::Result<Self> {
        Ok(Self { token: AtomicU64::new(EMPTY), waiter: OnceLock::new() })
    }

    fn settle(&self) {
        let _ = self.waiter.set(std::thread::current());
    }

    fn put(&self, token: u64) -> io::Result<()> {
        // Parking orders this before the waiter's next check.
        self.token.store(token, Ordering::Relaxed);
        if let Some(waiter) = self.waiter.get() {
            waiter.unpark();
        }
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        loop {
            match self.token.swap(EMPTY, Ordering::Relaxed) {
                EMPTY => std::thread::park(),
                token => return Ok(token),
            }
        }
    }
}
