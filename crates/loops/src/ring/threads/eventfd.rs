//! An eventfd: a counter in the kernel. The token is what it counts to.

use super::mailbox::Mailbox;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::io;

/// A counter of its own.
pub struct Eventfd(OwnedFd);

impl Mailbox for Eventfd {
    fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC)?))
    }

    fn put(&self, token: u64) -> io::Result<()> {
        // One more, because adding nothing wakes nobody.
        rustix::io::write(&self.0, &(token + 1).to_ne_bytes())?;
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        rustix::io::retry_on_intr(|| rustix::io::read(&self.0, &mut count))?;
        Ok(u64::from_ne_bytes(count) - 1)
    }
}
