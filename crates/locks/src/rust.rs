//! Mutexes of Rust: those of the crate parking_lot, and that of the standard library.

use crate::lock::Lock;
use std::io;
use std::sync::{Mutex, MutexGuard};

/// `parking_lot::Mutex` in its default form.
pub struct ParkingLot(parking_lot::Mutex<()>);

impl Lock for ParkingLot {
    type Guard<'a> = parking_lot::MutexGuard<'a, ()>;

    fn create() -> io::Result<Self> {
        Ok(Self(parking_lot::Mutex::new(())))
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.0.lock()
    }
}

/// `parking_lot::Mutex` with a handoff in every unlock.
pub struct Fair(parking_lot::Mutex<()>);

/// A guard that unlocks fairly when it is dropped.
pub struct FairGuard<'a>(Option<parking_lot::MutexGuard<'a, ()>>);

impl Lock for Fair {
    type Guard<'a> = FairGuard<'a>;

    fn create() -> io::Result<Self> {
        Ok(Self(parking_lot::Mutex::new(())))
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
            parking_lot::MutexGuard::unlock_fair(guard);
        }
    }
}

/// `std::sync::Mutex`, as it is used: `lock().unwrap()`. Its poison flag and the branch to the panic are part of its
/// cost.
pub struct Standard(Mutex<()>);

impl Lock for Standard {
    type Guard<'a> = MutexGuard<'a, ()>;

    fn create() -> io::Result<Self> {
        Ok(Self(Mutex::new(())))
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.0.lock().unwrap()
    }
}
