//! A counting semaphore in one word.
//!
//! | bit 31 | bits 0 to 30 |
//! |---|---|
//! | 0 | units that may be taken |
//! | 1 | the last of the threads that wait |
//!
//! There are never units and waiters at once: a unit goes to the first waiter directly, so no other thread can take it in
//! between and no waiter starves.
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
    wait_list,
};

const WAITERS: u32 = 1 << 31;

/// A counting semaphore: 4 bytes, however many wait; first come, first served.
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
///     fn step<S: Scheduler>(&self, me: &ThreadHandle<'_, Self, S>) -> Poll<()> {
///         let (unit, sum) = me.shared();
///         ready!(unit.poll_wait(me));
///         sum.set(sum.get() + 1);
///         unit.signal(me.runtime());
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
    /// A semaphore with this number of units.
    ///
    /// # Panics
    /// If they are more than 2^31 − 1.
    pub const fn new(units: u32) -> Self {
        assert!(units < WAITERS, "a semaphore has at most 2,147,483,647 units");
        Self(Cell::new(units))
    }

    /// Takes a unit, or waits for one: `Ready` when it is the thread's own.
    #[inline(always)]
    pub fn poll_wait<N: Node, S: Scheduler, W>(&self, me: &Handle<'_, N, S, W>) -> Poll<()> {
        runtime::wait(me.node(), || self.try_wait(), || self.enlist(me))
    }

    /// Takes a unit, or waits for one.
    ///
    /// The wait can be dropped at any time, and has then not taken a unit.
    pub fn wait<'m, 'r, N: Node, S: Scheduler, W>(&'m self, me: &'m mut Handle<'r, N, S, W>) -> Wait<'m, 'r, N, S, W> {
        Wait { semaphore: self, me }
    }

    /// Takes a unit if there is one.
    #[inline(always)]
    pub fn try_wait(&self) -> bool {
        let word = self.0.get();
        let free = word & WAITERS == 0 && word > 0;
        if free {
            self.0.set(word - 1);
        }
        free
    }

    /// Gives a unit: to the first thread that waits, or to the next that comes.
    ///
    /// # Panics
    /// In a debug build, if there are 2^31 − 1 units.
    #[inline(always)]
    pub fn signal<N: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, N, S, W>) {
        if !self.grant_first(runtime) {
            debug_assert!(self.0.get() + 1 < WAITERS, "a semaphore has at most 2,147,483,647 units");
            self.0.set(self.0.get() + 1);
        }
    }

    /// Units that may be taken; 0 when threads wait.
    pub fn units(&self) -> u32 {
        if self.has_waiters() { 0 } else { self.0.get() }
    }

    #[inline(always)]
    pub(crate) fn has_waiters(&self) -> bool {
        self.0.get() & WAITERS != 0
    }

    /// Gives a unit to the first thread that waits; false when none does.
    #[inline(always)]
    pub(crate) fn grant_first<N: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, N, S, W>) -> bool {
        if !self.has_waiters() {
            return false;
        }
        let (first, last) = wait_list::pop(runtime.nodes, self.0.get() & !WAITERS);
        self.0.set(last.map_or(0, |last| WAITERS | last));
        runtime.grant(first);
        true
    }

    #[inline(always)]
    pub(crate) fn enlist<N: Node, S: Scheduler, W>(&self, me: &Handle<'_, N, S, W>) {
        let last = self.has_waiters().then_some(self.0.get() & !WAITERS);
        self.0.set(WAITERS | wait_list::push(me.runtime().nodes, last, me.number()));
    }

    /// Ends a wait that was begun and not finished: a unit that was granted is passed on by `signal`.
    pub(crate) fn give_up<N: Node, S: Scheduler, W>(&self, me: &Handle<'_, N, S, W>, signal: impl FnOnce()) {
        let word = me.node().word();
        if word.is_listed() {
            let last = wait_list::remove(me.runtime().nodes, self.0.get() & !WAITERS, me.number());
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
    me: &'m mut Handle<'r, N, S, W>,
}

impl<N: Node, S: Scheduler, W> Future for Wait<'_, '_, N, S, W> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.semaphore.poll_wait(self.me)
    }
}

impl<N: Node, S: Scheduler, W> Drop for Wait<'_, '_, N, S, W> {
    #[inline(always)]
    fn drop(&mut self) {
        // The thread can have begun no other wait, for this one borrows its handle.
        if !self.me.node().word().is_free() {
            self.semaphore.give_up(self.me, || self.semaphore.signal(self.me.runtime()));
        }
    }
}
