//! A value for one thread at a time: a semaphore with one unit, and what it guards.
use core::{
    cell::{RefCell, RefMut},
    fmt,
    ops::{Deref, DerefMut},
    task::{Poll, ready},
};

use crate::{handle::Handle, node::Node, runtime::Runtime, schedulers::Scheduler, semaphore::Semaphore};

/// A value for one thread at a time, also while that thread waits for something else; first come, first served.
///
/// Between two waits a thread has everything for itself, so a [`Cell`](core::cell::Cell) does for what is changed
/// there. A mutex is for what takes several.
#[derive(Debug)]
pub struct Mutex<T> {
    unlocked: Semaphore,
    value: RefCell<T>,
}

impl<T> Mutex<T> {
    /// A mutex that is free.
    pub const fn new(value: T) -> Self {
        Self { unlocked: Semaphore::new(1), value: RefCell::new(value) }
    }

    /// Locks it, or waits until that is possible.
    ///
    /// # Panics
    /// If the thread takes what it was granted by something else for this mutex: see
    /// [`Thread::step`](crate::Thread::step).
    pub fn poll_lock<'a, 'r, N: Node, S: Scheduler, W>(
        &'a self,
        me: &Handle<'r, N, S, W>,
    ) -> Poll<MutexGuard<'a, 'r, T, N, S, W>> {
        ready!(self.unlocked.poll_wait(me));
        Poll::Ready(self.guard(me.runtime()))
    }

    /// Locks it, or waits until that is possible. The wait can be dropped at any time.
    pub async fn lock<'a, 'r, N: Node, S: Scheduler, W>(
        &'a self,
        me: &mut Handle<'r, N, S, W>,
    ) -> MutexGuard<'a, 'r, T, N, S, W> {
        self.unlocked.wait(me).await;
        self.guard(me.runtime())
    }

    /// Locks it if it is free.
    pub fn try_lock<'a, 'r, N: Node, S: Scheduler, W>(
        &'a self,
        me: &Handle<'r, N, S, W>,
    ) -> Option<MutexGuard<'a, 'r, T, N, S, W>> {
        self.unlocked.try_wait().then(|| self.guard(me.runtime()))
    }

    /// The value; no thread can have it locked.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The value, without the mutex.
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

/// A locked [`Mutex`]; dropping it hands the mutex to the first who waits.
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
        // The next owner runs later, when the value is no longer borrowed.
        self.unlocked.signal(self.runtime);
    }
}

impl<T: fmt::Debug, N: Node, S: Scheduler, W> fmt::Debug for MutexGuard<'_, '_, T, N, S, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
