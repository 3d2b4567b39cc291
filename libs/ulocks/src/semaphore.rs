//! What a semaphore must do to serve a [`Benaphore`](crate::Benaphore).

/// A counter that never falls below zero: taking from an empty one waits.
///
/// Two kinds live in this crate: [`SysvSem`](crate::SysvSem), which is the kernel's, and
/// [`FutexSem`](crate::FutexSem), which enters the kernel only to sleep and to wake a sleeper.
///
/// A semaphore has no owner. Any thread may [`release`](Semaphore::release) it, also one that never acquired it.
pub trait Semaphore {
    /// Takes one, waiting for it if there is none.
    ///
    /// # Panics
    /// When the semaphore no longer exists: only a kernel object can go away ([`SysvSem`](crate::SysvSem)).
    fn acquire(&self);

    /// Takes one if there is one now.
    ///
    /// # Panics
    /// As [`acquire`](Semaphore::acquire).
    fn try_acquire(&self) -> bool;

    /// Gives one, waking a thread that waits for it.
    ///
    /// # Panics
    /// As [`acquire`](Semaphore::acquire), and when the count of a kernel object would leave its range.
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
