//! The interface of a lock under test, and of the code that uses a lock once its name has become a type; and no lock.

use std::io;
use ulocks::Counts;

/// A lock that an experiment can take and, by dropping the guard, release.
pub trait Lock: Sync + Send + Sized + 'static {
    /// A guard that holds the lock until it is dropped.
    type Guard<'a>;

    /// Returns a free lock, which may still be moved.
    fn create() -> io::Result<Self>;

    /// Prepares the lock once, where it will stay until it is dropped, before it is used.
    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Waits for the lock and acquires it.
    fn lock(&self) -> Self::Guard<'_>;

    /// Returns the lock's own counts, if it counts.
    fn counts(&self) -> Option<Counts> {
        None
    }
}

/// A lock that excludes no thread: the loop with nothing in it, whose time is the measurement's own cost.
pub struct NoLock;

impl Lock for NoLock {
    type Guard<'a> = ();

    fn create() -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn lock(&self) {}
}

/// A lock that readers share.
pub trait SharedLock: Lock {
    /// A guard that holds the lock together with other readers until it is dropped.
    type ReadGuard<'a>;

    /// Waits for the lock and acquires it with other readers.
    fn read(&self) -> Self::ReadGuard<'_>;
}

/// An operation on a lock whose type is known.
pub trait Builder {
    /// The result of the operation.
    type Output;

    /// Runs the operation with the type that the name stands for.
    fn build<L: Lock>(self) -> io::Result<Self::Output>;
}

/// An operation on a lock that readers share.
pub trait SharedBuilder {
    /// The result of the operation.
    type Output;

    /// Runs the operation with the type that the name stands for.
    fn build_shared<L: SharedLock>(self) -> io::Result<Self::Output>;
}

/// The users of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The threads of one process.
    Threads,
    /// Several processes, with the lock in memory that they share.
    Processes,
}
