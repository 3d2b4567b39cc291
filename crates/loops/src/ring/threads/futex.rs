//! A bare futex: the basis of every lock and channel of kernel threads.

use super::Mailbox;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const EMPTY: u32 = 0;
const FULL: u32 = 1;
/// The slot is empty, and a thread sleeps.
const AWAITED: u32 = 2;

/// A word with the states: whether there is a token, and whether a thread sleeps.
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
        // Release: a thread that reads FULL sees the token.
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
                    // It was filled before the kernel read it, or a signal arrived.
                    Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                },
            }
        }
    }
}
