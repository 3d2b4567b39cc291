//! What a lock under test can do; what is done with it once its name has become a type, and by whom.

use std::io;
use ulocks::Counts;

/// A lock that an experiment can take and, by dropping the guard, release.
pub trait Lock: Sync + Send + Sized + 'static {
    /// Holds the lock until it is dropped.
    type Guard<'a>;

    /// A free lock, which may still be moved.
    fn create() -> io::Result<Self>;

    /// Called once, where the lock will stay until it is dropped, before it is used.
    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Waits for the lock and takes it.
    fn lock(&self) -> Self::Guard<'_>;

    /// What the lock itself has counted, if it counts.
    fn counts(&self) -> Option<Counts> {
        None
    }
}

/// A lock that readers share.
pub trait SharedLock: Lock {
    /// Holds the lock together with other readers until it is dropped.
    type ReadGuard<'a>;

    /// Waits for the lock and takes it with other readers.
    fn read(&self) -> Self::ReadGuard<'_>;
}

/// What is done with a lock once its type is known.
pub trait Builder {
    /// What comes of it.
    type Output;

    /// Called with the type that the name stands for.
    fn build<L: Lock>(self) -> io::Result<Self::Output>;
}

/// What is done with a lock that readers share.
pub trait SharedBuilder {
    /// What comes of it.
    type Output;

    /// Called with the type that the name stands for.
    fn build_shared<L: SharedLock>(self) -> io::Result<Self::Output>;
}

/// Who uses a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The threads of one process.
    Threads,
    /// Several processes, with the lock in memory that they share.
    Processes,
}
