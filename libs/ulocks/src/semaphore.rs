//! The interface of a semaphore that a [`Benaphore`](crate::Benaphore) can use.

/// A counter that never falls below zero: taking a unit from an empty semaphore waits.
///
/// This crate has two: [`SysvSem`](crate::SysvSem), which is the kernel's, and [`FutexSem`](crate::FutexSem), which
/// enters the kernel only to block and to wake.
///
/// A semaphore has no owner. Any thread may [`release`](Semaphore::release) it, even one that never acquired it.
pub trait Semaphore {
    /// Takes a unit, and waits if there is none.
    ///
    /// # Panics
    ///
    /// Panics if the semaphore does not exist any more, which is possible only for a kernel object
    /// ([`SysvSem`](crate::SysvSem)).
    fn acquire(&self);

    /// Takes a unit if one is available now; returns whether it did.
    ///
    /// # Panics
    ///
    /// Panics if the semaphore does not exist any more, as [`acquire`](Semaphore::acquire) does.
    fn try_acquire(&self) -> bool;

    /// Returns a unit, and wakes a thread that waits for one.
    ///
    /// # Panics
    ///
    /// Panics if the semaphore does not exist any more, as [`acquire`](Semaphore::acquire) does, or if the count of a
    /// kernel object would leave its range.
    fn release(&self);
}

impl<S: Semaphore + ?Sized> Semaphore for &S {
    fn acquire(&self) {
        (**self).acquire();
    }
    fn try_acquire(&self) -> bool {
        (**self).try_acquire()
    }
    fn release(&self) {
        (**self).release();
    }
}
