//! `std::sync::Mutex`. Its poison flag is part of its cost.

use crate::lock::Lock;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub struct Standard(Mutex<()>);

impl Lock for Standard {
    type Guard<'a> = MutexGuard<'a, ()>;

    fn create() -> io::Result<Self> {
        Ok(Self(Mutex::new(())))
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
