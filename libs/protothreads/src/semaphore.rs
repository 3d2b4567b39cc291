//! A counting semaphore in one word.
//!
//! | bit 31 | bits 0 to 30 |
//! |---|---|
//! | 0 | number of available units |
//! | 1 | the last of the waiting threads |
//!
//! There are never units and waiters at once: a unit goes to the first waiter directly, so no other thread can take
//! it in between and no waiter starves.
use core::{
    cell::Cell,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::handle::Handle;
use crate::node::{self, Node};
use crate::runtime::{self, Runtime};
use crate::schedulers::Scheduler;

const WAITERS: u32 = 1 << 31;

/// A counting semaphore of 4 bytes for any number of waiters: first come, first served.
///
/// # Examples
///
/// ```
/// use protothreads::{Fifo, Scheduler, Semaphore, Slot, Thread, ThreadHandle, run};
/// use std::{cell::Cell, task::{Poll, ready}};
///
/// /// Two threads, one unit: each adds one to the sum while it has the unit.
/// struct Adder;
///
/// impl Thread for Adder {
///     type Shared = (Semaphore, Cell<u32>);
///
///     fn step<S: Scheduler>(&self, handle: &ThreadHandle<'_, Self, S>) -> Poll<()> {
///         let (unit, sum) = handle.shared();
///         ready!(unit.poll_wait(handle));
///         sum.set(sum.get() + 1);
///         unit.signal(handle.runtime());
///         Poll::Ready(())
///     }
/// }
///
/// let shared = (Semaphore::new(1), Cell::new(0));
/// let report = run(&[Slot::new(Adder), Slot::new(Adder)], Fifo::new(), &shared);
/// assert_eq!((shared.1.get(), report.finished), (2, 2));
/// ```
#[derive(Debug)]
pub struct Semaphore(Cell<u32>);

impl Semaphore {
    /// Returns a semaphore with this number of units.
    ///
    /// # Panics
    ///
    /// Panics if `units` is more than 2^31 − 1.
    pub const fn new(units: u32) -> Self {
        assert!(units < WAITERS, "a semaphore has at most 2,147,483,647 units");
        Self(Cell::new(units))
    }

    /// Takes a unit, or waits for one; returns `Ready` when the thread has it.
    #[inline(always)]
    pub fn poll_wait<N: Node, S: Scheduler, W>(&self, handle: &Handle<'_, N, S, W>) -> Poll<()> {
        runtime::wait(handle.node(), || self.try_wait(), || self.enlist(handle))
    }

    /// Takes a unit, or waits for one.
    ///
    /// The wait can be dropped at any time, and has then not taken a unit.
    pub fn wait<'m, 'r, N: Node, S: Scheduler, W>(
        &'m self,
        handle: &'m mut Handle<'r, N, S, W>,
    ) -> Wait<'m, 'r, N, S, W> {
        Wait { semaphore: self, handle }
    }

    /// Takes a unit if one is available; returns whether it did.
    #[inline(always)]
    pub fn try_wait(&self) -> bool {
        let word = self.0.get();
        let free = word & WAITERS == 0 && word > 0;
        if free {
            self.0.set(word - 1);
        }
        free
    }

    /// Returns a unit: it goes to the first waiter, or stays available if there is none.
    ///
    /// # Panics
    ///
    /// Panics in a debug build if there are 2^31 − 1 units.
    #[inline(always)]
    pub fn signal<N: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, N, S, W>) {
        if !self.grant_first(runtime) {
            debug_assert!(self.0.get() + 1 < WAITERS, "a semaphore has at most 2,147,483,647 units");
            self.0.set(self.0.get() + 1);
        }
    }

    /// Returns the number of available units; 0 while threads wait.
    pub fn units(&self) -> u32 {
        if self.has_waiters() { 0 } else { self.0.get() }
    }

    #[inline(always)]
    pub(crate) fn has_waiters(&self) -> bool {
        self.0.get() & WAITERS != 0
    }

    /// Gives a unit to the first waiter; returns false if there is none.
    #[inline(always)]
    pub(crate) fn grant_first<N: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, N, S, W>) -> bool {
        if !self.has_waiters() {
            return false;
        }
        let (first, last) = node::pop_waiter(runtime.nodes, self.0.get() & !WAITERS);
        self.0.set(last.map_or(0, |last| WAITERS | last));
        runtime.grant(first);
        true
    }

    #[inline(always)]
    pub(crate) fn enlist<N: Node, S: Scheduler, W>(&self, handle: &Handle<'_, N, S, W>) {
        let last = self.has_waiters().then_some(self.0.get() & !WAITERS);
        self.0.set(WAITERS | node::push_waiter(handle.runtime().nodes, last, handle.number()));
    }

    /// Ends a wait that was not completed: `signal` passes a granted unit on.
    pub(crate) fn give_up<N: Node, S: Scheduler, W>(&self, handle: &Handle<'_, N, S, W>, signal: impl FnOnce()) {
        let word = handle.node().word();
        if word.is_listed() {
            let last = node::remove_waiter(handle.runtime().nodes, self.0.get() & !WAITERS, handle.number());
            self.0.set(last.map_or(0, |last| WAITERS | last));
            word.set_free();
        } else if word.is_granted() {
            word.set_free();
            signal();
        }
    }
}

/// A wait for a unit of a [`Semaphore`].
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Wait<'m, 'r, N: Node, S: Scheduler, W> {
    semaphore: &'m Semaphore,
    handle: &'m mut Handle<'r, N, S, W>,
}

impl<N: Node, S: Scheduler, W> Future for Wait<'_, '_, N, S, W> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.semaphore.poll_wait(self.handle)
    }
}

impl<N: Node, S: Scheduler, W> Drop for Wait<'_, '_, N, S, W> {
    #[inline(always)]
    fn drop(&mut self) {
        // The thread cannot have begun another wait, because this one borrows its handle.
        if !self.handle.node().word().is_free() {
            self.semaphore.give_up(self.handle, || self.semaphore.signal(self.handle.runtime()));
        }
    }
}
