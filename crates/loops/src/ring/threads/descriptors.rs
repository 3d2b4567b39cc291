//! Descriptors: streams of bytes (a pipe, a pair of sockets), of which the token is eight, and an eventfd, a counter in
//! the kernel, whose count is the token.

use super::Mailbox;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::unix::net::UnixStream;

/// A separate pipe.
pub struct Pipe {
    reads: OwnedFd,
    writes: OwnedFd,
}

impl Mailbox for Pipe {
    fn new() -> io::Result<Self> {
        let (reads, writes) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { reads, writes })
    }

    fn put(&self, token: u64) -> io::Result<()> {
        put(&self.writes, token)
    }

    fn take(&self) -> io::Result<u64> {
        take(&self.reads)
    }
}

/// Two connected sockets of the local kind.
pub struct Socketpair {
    reads: UnixStream,
    writes: UnixStream,
}

impl Mailbox for Socketpair {
    fn new() -> io::Result<Self> {
        let (reads, writes) = UnixStream::pair()?;
        Ok(Self { reads, writes })
    }

    fn put(&self, token: u64) -> io::Result<()> {
        put(&self.writes, token)
    }

    fn take(&self) -> io::Result<u64> {
        take(&self.reads)
    }
}

fn put(stream: impl AsFd, token: u64) -> io::Result<()> {
    // Eight bytes are written atomically: the buffer is empty.
    rustix::io::write(stream, &token.to_ne_bytes())?;
    Ok(())
}

fn take(stream: impl AsFd) -> io::Result<u64> {
    let mut token = [0; 8];
    let stream = stream.as_fd();
    match rustix::io::retry_on_intr(|| rustix::io::read(stream, &mut token))? {
        8 => Ok(u64::from_ne_bytes(token)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// A separate counter.
pub struct Eventfd(OwnedFd);

impl Mailbox for Eventfd {
    fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC)?))
    }

    fn put(&self, token: u64) -> io::Result<()> {
        // One more, because adding 0 wakes no thread.
        rustix::io::write(&self.0, &(token + 1).to_ne_bytes())?;
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        rustix::io::retry_on_intr(|| rustix::io::read(&self.0, &mut count))?;
        Ok(u64::from_ne_bytes(count) - 1)
    }
}
