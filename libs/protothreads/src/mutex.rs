//! A value for one thread at a time: a semaphore with one unit, and the protected value.
use core::{
    cell::{RefCell, RefMut},
    fmt,
    ops::{Deref, DerefMut},
    task::{Poll, ready},
};

use crate::{handle::Handle, node::Node, runtime::Runtime, schedulers::Scheduler, semaphore::Semaphore};

/// A value for one thread at a time, even while that thread waits for another event; first come, first served.
///
/// Between two waits no other thread runs, so a [`Cell`](core::cell::Cell) suffices for changes within that time. A
/// mutex is for changes that include a wait.
#[derive(Debug)]
pub struct Mutex<T> {
    unlocked: Semaphore,
    value: RefCell<T>,
}

impl<T> Mutex<T> {
    /// Returns an unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self { unlocked: Semaphore::new(1), value: RefCell::new(value) }
    }

    /// Locks the mutex, or waits until that is possible.
    ///
    /// # Panics
    ///
    /// Panics if the thread polls another wait after it was granted this mutex: see
    /// [`Thread::step`](crate::Thread::step).
    pub fn poll_lock<'a, 'r, N: Node, S: Scheduler, W>(
        &'a self,
        handle: &Handle<'r, N, S, W>,
    ) -> Poll<MutexGuard<'a, 'r, T, N, S, W>> {
        ready!(self.unlocked.poll_wait(handle));
        Poll::Ready(self.guard(handle.runtime()))
    }

    /// Locks the mutex, or waits until that is possible. The wait can be dropped at any time.
    pub async fn lock<'a, 'r, N: Node, S: Scheduler, W>(
        &'a self,
        handle: &mut Handle<'r, N, S, W>,
    ) -> MutexGuard<'a, 'r, T, N, S, W> {
        self.unlocked.wait(handle).await;
        self.guard(handle.runtime())
    }

    /// Locks the mutex if it is unlocked.
    pub fn try_lock<'a, 'r, N: Node, S: Scheduler, W>(
        &'a self,
        handle: &Handle<'r, N, S, W>,
    ) -> Option<MutexGuard<'a, 'r, T, N, S, W>> {
        self.unlocked.try_wait().then(|| self.guard(handle.runtime()))
    }

    /// Returns the value; the exclusive reference proves that no thread has it locked.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Consumes the mutex and returns the value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    fn guard<'a, 'r, N: Node, S: Scheduler, W>(
        &'a self,
        runtime: &'r Runtime<'r, N, S, W>,
    ) -> MutexGuard<'a, 'r, T, N, S, W> {
        MutexGuard { value: self.value.borrow_mut(), unlocked: &self.unlocked, runtime }
    }
}

/// The right to a locked [`Mutex`]; dropping it hands the mutex off to the first waiter.
pub struct MutexGuard<'a, 'r, T, N: Node, S: Scheduler, W> {
    value: RefMut<'a, T>,
    unlocked: &'a Semaphore,
    runtime: &'r Runtime<'r, N, S, W>,
}

impl<T, N: Node, S: Scheduler, W> Deref for MutexGuard<'_, '_, T, N, S, W> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T, N: Node, S: Scheduler, W> DerefMut for MutexGuard<'_, '_, T, N, S, W> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T, N: Node, S: Scheduler, W> Drop for MutexGuard<'_, '_, T, N, S, W> {
    fn drop(&mut self) {
        // The next owner runs later, when the value is not borrowed any more.
        self.unlocked.signal(self.runtime);
    }
}

impl<T: fmt::Debug, N: Node, S: Scheduler, W> fmt::Debug for MutexGuard<'_, '_, T, N, S, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
