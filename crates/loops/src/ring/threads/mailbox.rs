//! What a way of handing over has to do.

use std::io;

/// A place for one token, at which one thread waits. It is empty whenever something is put.
pub trait Mailbox: Sync + Sized {
    /// # Errors
    /// What the system refuses: descriptors can run out.
    fn new() -> io::Result<Self>;

    /// Called by the thread that will take from it, before anyone puts.
    fn settle(&self) {}

    /// # Errors
    /// What the system refuses.
    fn put(&self, token: u64) -> io::Result<()>;

    /// Waits for a token.
    ///
    /// # Errors
    /// What the system refuses.
    fn take(&self) -> io::Result<u64>;
}
