//! What is done with a lock once its name has become a type, and by whom.

use crate::lock::{Lock, SharedLock};
use std::io;

/// What is done with a lock once its type is known.
pub trait Builder {
    /// What comes of it.
    type Output;

    /// Called with the type that the name stands for.
    ///
    /// # Errors
    /// The lock could not be made.
    fn build<L: Lock>(self) -> io::Result<Self::Output>;
}

/// What is done with a lock that readers share.
pub trait SharedBuilder {
    /// What comes of it.
    type Output;

    /// Called with the type that the name stands for.
    ///
    /// # Errors
    /// The lock could not be made.
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
