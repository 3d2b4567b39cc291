//! Something that has happened, or has not yet.
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

/// Something that has happened, or has not yet: all who wait for it go on when it does.
#[derive(Debug)]
pub struct Event {
    is_set: Cell<bool>,
    waiters: Semaphore,
}

impl Event {
    /// An event that has not happened.
    pub const fn new() -> Self {
        Self { is_set: Cell::new(false), waiters: Semaphore::new(0) }
    }

    /// Whether it has happened.
    pub fn is_set(&self) -> bool {
        self.is_set.get()
    }

    /// It has happened: all threads that wait go on, and who comes later does not wait.
    pub fn set<N: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, N, S, W>) {
        self.is_set.set(true);
        self.pulse(runtime);
    }

    /// It happens now: all threads that wait go on, and who comes later waits for the next time.
    pub fn pulse<N: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, N, S, W>) {
        while self.waiters.grant_first(runtime) {}
    }

    /// Resets the event. A thread that was granted it before continues all the same.
    pub fn reset(&self) {
        self.is_set.set(false);
    }

    /// Waits until it happens, unless it has.
    pub fn poll_wait<N: Node, S: Scheduler, W>(&self, me: &Handle<'_, N, S, W>) -> Poll<()> {
        runtime::wait(me.node(), || self.is_set(), || self.waiters.enlist(me))
    }

    /// Waits until it happens, unless it has. The wait can be dropped at any time.
    pub fn wait<'m, 'r, N: Node, S: Scheduler, W>(
        &'m self,
        me: &'m mut Handle<'r, N, S, W>,
    ) -> EventWait<'m, 'r, N, S, W> {
        EventWait { event: self, me }
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
    me: &'m mut Handle<'r, N, S, W>,
}

impl<N: Node, S: Scheduler, W> Future for EventWait<'_, '_, N, S, W> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.event.poll_wait(self.me)
    }
}

impl<N: Node, S: Scheduler, W> Drop for EventWait<'_, '_, N, S, W> {
    fn drop(&mut self) {
        self.event.waiters.give_up(self.me, || ());
    }
}
