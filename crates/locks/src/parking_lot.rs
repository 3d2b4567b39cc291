//! `parking_lot::Mutex`, in its default form and with a handoff in every unlock.

use crate::lock::Lock;
use ::parking_lot::{Mutex, MutexGuard};
use std::io;

pub struct ParkingLot(Mutex<()>);

impl Lock for ParkingLot {
    type Guard<'a> = MutexGuard<'a, ()>;

    fn create() -> io::Result<Self> {
        Ok(Self(Mutex::new(())))
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.0.lock()
    }
}

pub struct Fair(Mutex<()>);

/// A guard that unlocks fairly when it is dropped.
pub struct FairGuard<'a>(Option<MutexGuard<'a, ()>>);

impl Lock for Fair {
    type Guard<'a> = FairGuard<'a>;

    fn create() -> io::Result<Self> {
        Ok(Self(Mutex::new(())))
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        FairGuard(Some(self.0.lock()))
    }
}

impl Drop for FairGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(guard) = self.0.take() {
            MutexGuard::unlock_fair(guard);
        }
    }
}
