//! `parking_lot::Mutex`.

use super::Lock;
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
