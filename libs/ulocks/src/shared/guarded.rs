//! A lock together with the data that it protects.

use std::cell::UnsafeCell;

/// A lock and the data that it protects, laid out as in C, so that programs of different builds agree on it.
///
/// (The compiler chooses the order of the fields of `lock_api::Mutex`.)
#[derive(Debug, Default)]
#[repr(C)]
pub struct Guarded<R: lock_api::RawMutex, T> {
    lock: R,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only accessed while the lock is held, so by one thread at a time: `T: Send` is sufficient.
unsafe impl<R: lock_api::RawMutex + Sync, T: Send> Sync for Guarded<R, T> {}

impl<R: lock_api::RawMutex, T> Guarded<R, T> {
    /// Calls `work` with the value while holding the lock, and returns its result.
    pub fn with<O>(&self, work: impl FnOnce(&mut T) -> O) -> O {
        struct Unlock<'a, R: lock_api::RawMutex>(&'a R, Option<R::Guard>);
        impl<R: lock_api::RawMutex> Drop for Unlock<'_, R> {
            fn drop(&mut self) {
                if let Some(guard) = self.1.take() {
                    // SAFETY: the lock was acquired with this guard, which is used once.
                    unsafe { self.0.unlock(guard) };
                }
            }
        }
        let _unlock = Unlock(&self.lock, Some(self.lock.lock()));
        // SAFETY: the lock is held until `_unlock` is dropped, after `work`, so no other reference to the value
        // exists.
        work(unsafe { &mut *self.value.get() })
    }

    /// Returns the lock.
    pub fn lock(&self) -> &R {
        &self.lock
    }
}
