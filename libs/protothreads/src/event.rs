//! An event for which threads wait.
use core::{
    cell::Cell,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    handle::Handle,
    node::Node,
    runtime::{self, Runtime},
    schedulers::Scheduler,
    semaphore::Semaphore,
};

/// An event that happens once until it is reset: all waiting threads continue when it happens.
#[derive(Debug)]
pub struct Event {
    is_set: Cell<bool>,
    waiters: Semaphore,
}

impl Event {
    /// Returns an event that has not happened.
    pub const fn new() -> Self {
        Self { is_set: Cell::new(false), waiters: Semaphore::new(0) }
    }

    /// Returns whether it has happened.
    pub fn is_set(&self) -> bool {
        self.is_set.get()
    }

    /// Makes it happen: all waiting threads continue, and later threads do not wait.
    pub fn set<N: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, N, S, W>) {
        self.is_set.set(true);
        self.pulse(runtime);
    }

    /// Makes it happen for the waiting threads only: they continue, and later threads wait for the next time.
    pub fn pulse<N: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, N, S, W>) {
        while self.waiters.grant_first(runtime) {}
    }

    /// Resets the event. A thread that was granted it before continues nevertheless.
    pub fn reset(&self) {
        self.is_set.set(false);
    }

    /// Waits until it happens, unless it has happened.
    pub fn poll_wait<N: Node, S: Scheduler, W>(&self, handle: &Handle<'_, N, S, W>) -> Poll<()> {
        runtime::wait(handle.node(), || self.is_set(), || self.waiters.enlist(handle))
    }

    /// Waits until it happens, unless it has happened. The wait can be dropped at any time.
    pub fn wait<'m, 'r, N: Node, S: Scheduler, W>(
        &'m self,
        handle: &'m mut Handle<'r, N, S, W>,
    ) -> EventWait<'m, 'r, N, S, W> {
        EventWait { event: self, handle }
    }
}

impl Default for Event {
    fn default() -> Self {
        Self::new()
    }
}

/// A wait for an [`Event`].
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct EventWait<'m, 'r, N: Node, S: Scheduler, W> {
    event: &'m Event,
    handle: &'m mut Handle<'r, N, S, W>,
}

impl<N: Node, S: Scheduler, W> Future for EventWait<'_, '_, N, S, W> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.event.poll_wait(self.handle)
    }
}

impl<N: Node, S: Scheduler, W> Drop for EventWait<'_, '_, N, S, W> {
    fn drop(&mut self) {
        self.event.waiters.give_up(self.handle, || ());
    }
}
