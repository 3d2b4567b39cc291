//! A thread's handle on itself, through which it waits, signals and yields.
use core::{
    future::Future,
    hint::cold_path,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    node::{Link, Node, Slot},
    runtime::Runtime,
    schedulers::Scheduler,
};

/// A thread's handle on itself.
///
/// A hand-written thread gets it in each step. An async one is created with it, and it is neither `Clone` nor `Copy`.
/// A wait borrows it mutably, so the compiler ensures that a thread waits for one thing at a time.
// Packed, so that an async thread that keeps it has room for its own state within the second 8 bytes.
#[repr(C, packed(4))]
pub struct Handle<'r, N, S, W = ()> {
    runtime: &'r Runtime<'r, N, S, W>,
    index: u32,
}

impl<'r, N: Node, S: Scheduler, W> Handle<'r, N, S, W> {
    #[inline(always)]
    pub(crate) fn new(runtime: &'r Runtime<'r, N, S, W>, index: u32) -> Self {
        assert!((index as usize) < runtime.nodes.len(), "there is no thread {index}");
        Self { runtime, index }
    }

    /// Returns the thread's number, from 0: its index in the runtime's slice.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.index as usize
    }

    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        self.index
    }

    /// Returns the runtime that runs the thread.
    #[inline(always)]
    pub fn runtime(&self) -> &'r Runtime<'r, N, S, W> {
        self.runtime
    }

    /// Returns the data that the threads share.
    #[inline(always)]
    pub fn shared(&self) -> &'r W {
        self.runtime().shared()
    }

    /// Returns the number of threads, including finished ones.
    #[inline(always)]
    pub fn thread_count(&self) -> usize {
        self.runtime().thread_count()
    }

    /// Takes a unit of the thread's own semaphore, or waits for one; returns `Ready` when it has the unit.
    #[inline(always)]
    pub fn poll_wait(&self) -> Poll<()> {
        self.node().word().wait_own()
    }

    /// Returns the part of this thread that other threads see.
    #[inline(always)]
    pub fn own(&self) -> &'r N::Thread {
        self.node().thread()
    }

    /// Calls `leave` with thread `index`, for example to store a message, and gives a unit to its own semaphore.
    ///
    /// # Panics
    ///
    /// Panics if there is no thread of that number, or its semaphore is full, as [`Runtime::signal`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use protothreads::{Handle, Link, Scheduler};
    /// # use std::cell::Cell;
    /// async fn thread<S: Scheduler>(handle: Handle<'_, Link<Cell<u32>>, S>) {
    ///     handle.tell(1, |message| message.set(7));
    /// }
    /// ```
    #[inline(always)]
    pub fn tell(&self, index: usize, leave: impl FnOnce(&'r N::Thread)) {
        self.runtime().tell(index, leave);
    }

    /// Gives a unit to the own semaphore of thread `index`.
    ///
    /// # Panics
    ///
    /// Panics if there is no thread of that number, or its semaphore is full, as [`Runtime::signal`] does.
    #[inline(always)]
    pub fn signal(&self, index: usize) {
        self.runtime().signal(index);
    }

    /// Returns another thread, or this one: all of it if it is hand-written, and the value in its [`Link`] if it is
    /// async.
    ///
    /// # Panics
    ///
    /// Panics if there is no thread of that number.
    #[inline(always)]
    pub fn thread(&self, index: usize) -> &'r N::Thread {
        self.runtime().thread(index)
    }

    #[inline(always)]
    pub(crate) fn node(&self) -> &'r N {
        self.runtime().own_node(self.index)
    }
}

impl<'r, T, S: Scheduler, W> Handle<'r, Slot<T>, S, W> {
    /// Ends a step that waited for the thread's own semaphore, and will wait again: the next step begins when there
    /// is a unit.
    ///
    /// The effect is that of a loop around [`poll_wait`](Self::poll_wait), but the compiler optimises it better: the
    /// ring of the benchmark takes a sixth less time.
    #[inline(always)]
    pub fn wait_again(&self) -> Poll<()> {
        if self.poll_wait().is_ready() {
            cold_path();
            self.node().word().add_own_unit();
            return self.give_way();
        }
        Poll::Pending
    }

    /// Yields to the other threads: a step that returns this result is called again after the threads that are ready
    /// now.
    ///
    /// A step can therefore wait for any condition: `if !condition { return handle.give_way(); }`.
    #[inline(always)]
    pub fn give_way(&self) -> Poll<()> {
        self.runtime().make_ready(self.index);
        Poll::Pending
    }
}

impl<N: Node, S, W> core::fmt::Debug for Handle<'_, N, S, W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Handle").field("index", &{ self.index }).finish_non_exhaustive()
    }
}

impl<'r, T, S: Scheduler, W> Runtime<'r, Link<T>, S, W> {
    /// Returns the handle of thread `index`, for the future that will be its body. Each handle is returned once.
    ///
    /// # Panics
    ///
    /// Panics if there is no thread of that number, or if its handle was returned before.
    pub fn handle(&'r self, index: usize) -> Handle<'r, Link<T>, S, W> {
        assert!(self.nodes[index].take(), "the handle of thread {index} was handed out before");
        Handle::new(self, index as u32)
    }
}

impl<'r, T, S: Scheduler, W> Handle<'r, Link<T>, S, W> {
    /// Takes a unit of the thread's own semaphore, or waits for one.
    ///
    /// The wait can be dropped at any time, and has then not taken a unit.
    #[inline(always)]
    pub fn wait(&mut self) -> OwnWait<'_, 'r, T, S, W> {
        OwnWait { handle: Some(self) }
    }

    /// Yields to the other threads that are ready now.
    pub fn give_way(&mut self) -> GiveWay<'_, 'r, T, S, W> {
        GiveWay { handle: Some(self) }
    }
}

/// A thread's wait for its own semaphore.
#[must_use = "a future does nothing unless it is awaited"]
// The handle is removed when the wait is over, so that dropping it reads nothing. Packed as the handle is.
#[repr(C, packed(4))]
pub struct OwnWait<'m, 'r, T, S: Scheduler, W> {
    handle: Option<&'m Handle<'r, Link<T>, S, W>>,
}

impl<T, S: Scheduler, W> Future for OwnWait<'_, '_, T, S, W> {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let handle = self.handle.expect("the wait was over");
        let poll = handle.poll_wait();
        if poll.is_ready() {
            self.handle = None;
        }
        poll
    }
}

impl<T, S: Scheduler, W> Drop for OwnWait<'_, '_, T, S, W> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(handle) = self.handle {
            handle.node().word().give_up_own();
        }
    }
}

impl<T, S: Scheduler, W> core::fmt::Debug for OwnWait<'_, '_, T, S, W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("OwnWait").field("handle", &{ self.handle }).finish()
    }
}

/// A future that is ready when it is polled again.
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct GiveWay<'m, 'r, T, S: Scheduler, W> {
    handle: Option<&'m mut Handle<'r, Link<T>, S, W>>,
}

impl<T, S: Scheduler, W> Future for GiveWay<'_, '_, T, S, W> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match self.handle.take() {
            Some(handle) => {
                handle.runtime().make_ready(handle.number());
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}
