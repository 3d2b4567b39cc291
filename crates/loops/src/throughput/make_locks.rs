//! Makes the locks of a cell, with a type that is no longer known.

use super::child::{AnyLocks, Dealt, Exclusive, Guarded, WithReaders};
use instruments::shared_memory::SharedArray;
use locks::{Builder, Lock, Reach, SharedBuilder, SharedLock};
use std::io;

struct MakeLocks {
    locks: usize,
}

impl Builder for MakeLocks {
    type Output = Box<dyn AnyLocks>;

    fn build<L: Lock>(self) -> io::Result<Self::Output> {
        Ok(Box::new(Dealt::new(settled::<L>(self.locks)?, Exclusive)))
    }
}

impl SharedBuilder for MakeLocks {
    type Output = Box<dyn AnyLocks>;

    fn build_shared<L: SharedLock>(self) -> io::Result<Self::Output> {
        Ok(Box::new(Dealt::new(settled::<L>(self.locks)?, WithReaders)))
    }
}

/// Locks in memory that forked children share.
fn settled<L: Lock>(locks: usize) -> io::Result<SharedArray<Guarded<L>>> {
    let mut array = SharedArray::from_fn(locks, |_| Guarded::<L>::new())?;
    array.iter_mut().try_for_each(Guarded::settle)?;
    Ok(array)
}

/// So many locks of that name that what `reach` says can share; with readers or without. `None` if there is no such
/// lock.
///
/// # Errors
/// What the system refuses.
pub fn make(name: &str, locks: usize, readers: bool, reach: Reach) -> Option<io::Result<Box<dyn AnyLocks>>> {
    let make = MakeLocks { locks };
    if readers { locks::build_shared(name, reach, make) } else { locks::build(name, reach, make) }
}
