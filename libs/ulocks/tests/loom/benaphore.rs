//! A counter in front of a semaphore.

use crate::model::{Lock, excludes};
use ulocks::{Benaphore, FutexSem};

impl Lock for Benaphore<FutexSem> {
    fn lock(&self) {
        Benaphore::lock(self);
    }
    fn try_lock(&self) -> bool {
        Benaphore::try_lock(self)
    }
    fn unlock(&self) {
        Benaphore::unlock(self);
    }
}

#[test]
fn benaphore() {
    excludes(|| Benaphore::new(FutexSem::new(0)), 2, 2, 3);
    excludes(|| Benaphore::new(FutexSem::new(0)), 3, 1, 2);
}
