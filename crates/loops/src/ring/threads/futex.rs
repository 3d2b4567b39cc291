//! A bare futex: what every lock and channel of the kernel's threads is made of.

use super::Mailbox;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const EMPTY: u32 = 0;
const FULL: u32 = 1;
/// Empty, and a thread sleeps.
const AWAITED: u32 = 2;

/// A word that says whether there is a token, and whether somebody sleeps.
pub struct Futex {
    state: AtomicU32,
    token: AtomicU64,
}

impl Mailbox for Futex {
    fn new() -> io::Result<Self> {
        Ok(Self { state: AtomicU32::new(EMPTY), token: AtomicU64::new(0) })
    }

    fn put(&self, token: u64) -> io::Result<()> {
        self.token.store(token, Ordering::Relaxed);
        // Release: whoever sees it full sees the token.
        if self.state.swap(FULL, Ordering::Release) == AWAITED {
            futex::wake(&self.state, Flags::PRIVATE, 1)?;
        }
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        loop {
            match self.state.compare_exchange(FULL, EMPTY, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(self.token.load(Ordering::Relaxed)),
                Err(EMPTY) => {
                    // If it fails, the mailbox is full by now.
                    let _ = self.state.compare_exchange(EMPTY, AWAITED, Ordering::Relaxed, Ordering::Relaxed);
                }
                Err(_) => match futex::wait(&self.state, Flags::PRIVATE, AWAITED, None) {
                    // It was filled before the kernel looked, or a signal came.
                    Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                },
            }
        }
    }
}
