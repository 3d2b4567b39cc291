//! A thread's handle on itself: what it waits, signals and yields through.
use core::{
    future::Future,
    hint::cold_path,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    kernel::Kernel,
    node::{Link, Node, Slot},
    scheduler::Scheduler,
};

/// A thread's handle on itself.
///
/// A hand-written thread gets it in each step; an async one is made with it, and it is neither `Clone` nor `Copy`: a wait
/// borrows it mutably, so the compiler sees to it that a thread waits for one thing at a time.
//
// Packed, so that an async thread that keeps it has room for its own state within the second 8 bytes.
#[repr(C, packed(4))]
pub struct Me<'k, N, S, W = ()> {
    kernel: &'k Kernel<'k, N, S, W>,
    index: u32,
}

impl<'k, N: Node, S: Scheduler, W> Me<'k, N, S, W> {
    #[inline(always)]
    pub(crate) fn new(kernel: &'k Kernel<'k, N, S, W>, index: u32) -> Self {
        assert!((index as usize) < kernel.nodes.len(), "there is no thread {index}");
        Self { kernel, index }
    }

    /// The thread's number, from 0: its place in the kernel's slice.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.index as usize
    }

    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        self.index
    }

    /// The kernel that runs the thread.
    #[inline(always)]
    pub fn kernel(&self) -> &'k Kernel<'k, N, S, W> {
        self.kernel
    }

    /// What the threads share.
    #[inline(always)]
    pub fn shared(&self) -> &'k W {
        self.kernel().shared()
    }

    /// How many threads there are, finished ones included.
    #[inline(always)]
    pub fn thread_count(&self) -> usize {
        self.kernel().thread_count()
    }

    /// Takes a unit of the thread's own semaphore, or waits for one: `Ready` when it is the thread's own.
    #[inline(always)]
    pub fn poll_wait(&self) -> Poll<()> {
        self.node().word().wait_own()
    }

    /// This thread, as others see it.
    #[inline(always)]
    pub fn own(&self) -> &'k N::Thread {
        self.node().thread()
    }

    /// Leaves something with thread `index`, and gives a unit to its own semaphore.
    ///
    /// ```
    /// # use protothreads::{Link, Me, Scheduler};
    /// # use std::cell::Cell;
    /// async fn thread<S: Scheduler>(me: Me<'_, Link<Cell<u32>>, S>) {
    ///     me.tell(1, |message| message.set(7));
    /// }
    /// ```
    ///
    /// # Panics
    /// As [`Kernel::signal`].
    #[inline(always)]
    pub fn tell(&self, index: usize, leave: impl FnOnce(&'k N::Thread)) {
        self.kernel().tell(index, leave);
    }

    /// Gives a unit to the own semaphore of thread `index`.
    ///
    /// # Panics
    /// As [`Kernel::signal`].
    #[inline(always)]
    pub fn signal(&self, index: usize) {
        self.kernel().signal(index);
    }

    /// Another thread, or this one: all of it if it is hand-written, and what its [`Link`] has if it is async.
    ///
    /// # Panics
    /// If there is no thread of that number.
    #[inline(always)]
    pub fn thread(&self, index: usize) -> &'k N::Thread {
        self.kernel().thread(index)
    }

    #[inline(always)]
    pub(crate) fn node(&self) -> &'k N {
        self.kernel().own_node(self.index)
    }
}

impl<'k, T, S: Scheduler, W> Me<'k, Slot<T>, S, W> {
    /// Ends a step that waited for the thread's own semaphore, and will again: the next step begins when there is a unit.
    ///
    /// It does what a loop around [`poll_wait`](Self::poll_wait) does, and the compiler sees through it better: the ring of
    /// the benchmark takes a sixth less time.
    #[inline(always)]
    pub fn wait_again(&self) -> Poll<()> {
        if self.poll_wait().is_ready() {
            cold_path();
            self.node().word().add_own_unit();
            return self.give_way();
        }
        Poll::Pending
    }

    /// Lets the others run: a step that returns what this returns is called again after those who are ready now.
    ///
    /// So a step can wait for anything: `if !condition { return me.give_way(); }`.
    #[inline(always)]
    pub fn give_way(&self) -> Poll<()> {
        self.kernel().make_ready(self.index);
        Poll::Pending
    }
}

impl<N: Node, S, W> core::fmt::Debug for Me<'_, N, S, W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Me").field("index", &{ self.index }).finish_non_exhaustive()
    }
}

impl<'k, T, S: Scheduler, W> Kernel<'k, Link<T>, S, W> {
    /// The handle of thread `index`, for the future that will be its body. Each is handed out once.
    ///
    /// # Panics
    /// If there is no thread of that number, or its handle was handed out before.
    pub fn me(&'k self, index: usize) -> Me<'k, Link<T>, S, W> {
        assert!(self.nodes[index].take(), "the handle of thread {index} was handed out before");
        Me::new(self, index as u32)
    }
}

impl<'k, T, S: Scheduler, W> Me<'k, Link<T>, S, W> {
    /// Takes a unit of the thread's own semaphore, or waits for one.
    ///
    /// The wait can be dropped at any time, and has then not taken a unit.
    #[inline(always)]
    pub fn wait(&mut self) -> OwnWait<'_, 'k, T, S, W> {
        OwnWait { me: Some(self) }
    }

    /// Lets the others run: those who are ready now.
    pub fn give_way(&mut self) -> GiveWay<'_, 'k, T, S, W> {
        GiveWay { me: Some(self) }
    }
}

/// A thread's wait for a unit of its own semaphore.
#[must_use = "a future does nothing unless it is awaited"]
// The handle is gone when the wait is over, so that dropping it looks at nothing. Packed as the handle is.
#[repr(C, packed(4))]
pub struct OwnWait<'m, 'k, T, S: Scheduler, W> {
    me: Option<&'m Me<'k, Link<T>, S, W>>,
}

impl<T, S: Scheduler, W> Future for OwnWait<'_, '_, T, S, W> {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let me = self.me.expect("the wait was over");
        let poll = me.poll_wait();
        if poll.is_ready() {
            self.me = None;
        }
        poll
    }
}

impl<T, S: Scheduler, W> Drop for OwnWait<'_, '_, T, S, W> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(me) = self.me {
            me.node().word().give_up_own();
        }
    }
}

impl<T, S: Scheduler, W> core::fmt::Debug for OwnWait<'_, '_, T, S, W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("OwnWait").field("me", &{ self.me }).finish()
    }
}

/// Ready when it is polled again.
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct GiveWay<'m, 'k, T, S: Scheduler, W> {
    me: Option<&'m mut Me<'k, Link<T>, S, W>>,
}

impl<T, S: Scheduler, W> Future for GiveWay<'_, '_, T, S, W> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match self.me.take() {
            Some(me) => {
                me.kernel().make_ready(me.number());
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}
