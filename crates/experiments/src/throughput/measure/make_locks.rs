//! Makes the locks of a cell, with a type that is no longer known.

use super::child::{Dealt, DynLock, Exclusive, Guarded, WithReaders};
use crate::throughput::plan::CellPlan;
use anyhow::Context;
use instruments::shared_memory::SharedArray;
use locks::{Builder, Lock, Reach, SharedBuilder, SharedLock};
use std::io;

struct MakeLocks {
    locks: usize,
}

impl Builder for MakeLocks {
    type Output = Box<dyn DynLock>;

    fn build<L: Lock>(self) -> io::Result<Self::Output> {
        Ok(Box::new(Dealt::new(settled::<L>(self.locks)?, Exclusive)))
    }
}

impl SharedBuilder for MakeLocks {
    type Output = Box<dyn DynLock>;

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

/// The locks of a cell.
///
/// # Errors
/// What the system refuses.
pub fn make_locks(plan: &CellPlan, reach: Reach) -> anyhow::Result<Box<dyn DynLock>> {
    let make = MakeLocks { locks: plan.locks };
    let made = if plan.share > 0 {
        locks::build_shared(&plan.lock, reach, make)
    } else {
        locks::build(&plan.lock, reach, make)
    };
    made.expect("the plan has only locks that fit")
        .with_context(|| format!("the lock `{}` could not be made", plan.lock))
}
