//! A lock with what it protects.

use std::cell::UnsafeCell;

/// A lock and what it protects, laid out as in C, so that programs of different builds agree on it. (The fields of
/// `lock_api::Mutex` are in whatever order a compiler chooses.)
#[derive(Debug, Default)]
#[repr(C)]
pub struct Guarded<R: lock_api::RawMutex, T> {
    lock: R,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached with the lock held, so by one thread at a time: `T` must bear that it changes.
unsafe impl<R: lock_api::RawMutex + Sync, T: Send> Sync for Guarded<R, T> {}

impl<R: lock_api::RawMutex, T> Guarded<R, T> {
    /// Does something with the value while holding the lock.
    pub fn with<O>(&self, work: impl FnOnce(&mut T) -> O) -> O {
        struct Unlock<'a, R: lock_api::RawMutex>(&'a R, Option<R::Guard>);
        impl<R: lock_api::RawMutex> Drop for Unlock<'_, R> {
            fn drop(&mut self) {
                if let Some(guard) = self.1.take() {
                    // SAFETY: the lock was taken with this guard, which is used once.
                    unsafe { self.0.unlock(guard) };
                }
            }
        }
        let _unlock = Unlock(&self.lock, Some(self.lock.lock()));
        // SAFETY: the lock is held until `_unlock` is dropped, after `work`.
        work(unsafe { &mut *self.value.get() })
    }

    /// The lock itself.
    pub fn lock(&self) -> &R {
        &self.lock
    }
}
