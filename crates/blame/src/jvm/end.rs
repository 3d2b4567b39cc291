//! A request to end that wakes a thread, whatever that thread waits for.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Instant;

/// The request. It is made once, and stays.
pub struct End(OwnedFd);

/// The first event of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    ByEnd,
    ByDescriptor,
    Late,
}

impl End {
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub fn request(&self) {
        // It fails only where the counter is full, and so was written to.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    pub fn is_requested(&self) -> bool {
        self.wait(None, Instant::now()) == Woken::ByEnd
    }

    /// Waits for the request, for these events of a descriptor, or until then.
    pub fn wait(&self, descriptor: Option<(BorrowedFd<'_>, PollFlags)>, until: Instant) -> Woken {
        loop {
            let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).unwrap_or_default();
            let other = descriptor.map(|(descriptor, events)| PollFd::from_borrowed_fd(descriptor, events));
            let mut all: Vec<PollFd<'_>> =
                [Some(PollFd::new(&self.0, PollFlags::IN)), other].into_iter().flatten().collect();
            match poll(&mut all, Some(&left)) {
                Ok(0) => return Woken::Late,
                Ok(_) if !all[0].revents().is_empty() => return Woken::ByEnd,
                Ok(_) => return Woken::ByDescriptor,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Woken::ByEnd,
            }
        }
    }
}
