//! Threads that sleep, in a binary heap by deadline (Williams, 1964), in storage that the user provides.
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
    word::NONE,
};

/// A slot of a [`Timer`], of 16 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sleeper {
    deadline: u64,
    thread: u32,
}

/// A timer that wakes threads at their deadlines.
///
/// The user defines the time and its unit by [`advance`](Self::advance).
///
/// # Examples
///
/// ```
/// use protothreads::{Fifo, Link, Runtime, Sleeper, Timer};
/// use std::{cell::Cell, pin::pin, thread, time::{Duration, Instant}};
///
/// let links = [const { Link::new() }; 2];
/// let timer = Timer::new([const { Cell::new(Sleeper::new()) }; 2]);
/// let runtime = Runtime::new(&links, Fifo::new(), &timer);
/// let sleepy = |index: usize| {
///     let mut handle = runtime.handle(index);
///     async move {
///         let until_ms = handle.shared().now() + 2 - index as u64;
///         handle.shared().sleep_until(&mut handle, until_ms).await;
///     }
/// };
/// let threads = pin!([sleepy(0), sleepy(1)]);
///
/// let start = Instant::now();
/// let report = runtime.run_with(threads, |runtime| {
///     let Some(deadline_ms) = timer.next_deadline() else { return false };
///     thread::park_timeout(Duration::from_millis(deadline_ms).saturating_sub(start.elapsed()));
///     timer.advance(runtime, start.elapsed().as_millis() as u64);
///     true
/// });
/// assert_eq!(report.finished, 2);
/// assert!(start.elapsed() >= Duration::from_millis(2));
/// ```
#[derive(Debug)]
pub struct Timer<A> {
    heap: A,
    sleepers: Cell<usize>,
    now: Cell<u64>,
}

impl Sleeper {
    /// Returns an empty slot.
    pub const fn new() -> Self {
        Self { deadline: 0, thread: 0 }
    }
}

impl<A: AsRef<[Cell<Sleeper>]>> Timer<A> {
    /// Returns a timer at time 0, for as many sleeping threads as there are slots: an array, a slice, a `Vec`.
    ///
    /// A thread sleeps at most once at a time, so one slot per thread is always sufficient.
    pub const fn new(places: A) -> Self {
        Self { heap: places, sleepers: Cell::new(0), now: Cell::new(0) }
    }

    /// Returns the time that was set last.
    pub fn now(&self) -> u64 {
        self.now.get()
    }

    /// Returns the earliest deadline; `None` if no thread sleeps.
    pub fn next_deadline(&self) -> Option<u64> {
        (self.sleepers.get() > 0).then(|| self.heap.as_ref()[0].get().deadline)
    }

    /// Sets the time to `now`, and wakes the threads whose deadline has come, the earliest first. A time before the
    /// last one is treated as the last one.
    pub fn advance<N: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, N, S, W>, now: u64) {
        self.now.set(self.now.get().max(now));
        while self.next_deadline().is_some_and(|deadline| deadline <= self.now.get()) {
            runtime.grant(self.remove(0).thread);
        }
    }

    /// Sleeps until `deadline`, unless it has passed. The value of `deadline` counts when the sleep begins.
    ///
    /// # Panics
    ///
    /// Panics if all slots are in use.
    pub fn poll_sleep_until<N: Node, S: Scheduler, W>(&self, handle: &Handle<'_, N, S, W>, deadline: u64) -> Poll<()> {
        runtime::wait(handle.node(), || deadline <= self.now.get(), || self.enlist(handle, deadline))
    }

    /// Sleeps until `deadline`, unless it has passed. The sleep can be dropped at any time.
    ///
    /// # Panics
    ///
    /// Panics when it is polled, if all slots are in use.
    pub fn sleep_until<'m, 'r, N: Node, S: Scheduler, W>(
        &'m self,
        handle: &'m mut Handle<'r, N, S, W>,
        deadline: u64,
    ) -> Sleep<'m, 'r, A, N, S, W> {
        Sleep { timer: self, handle, deadline }
    }

    fn enlist<N: Node, S: Scheduler, W>(&self, handle: &Handle<'_, N, S, W>, deadline: u64) {
        let heap = self.heap.as_ref();
        let at = self.sleepers.get();
        assert!(at < heap.len(), "this timer has room for {at} sleepers; it needs one for each thread");
        handle.node().wait_before(NONE);
        heap[at].set(Sleeper { deadline, thread: handle.number() });
        self.sleepers.set(at + 1);
        self.rise(at);
    }

    fn remove(&self, at: usize) -> Sleeper {
        let heap = self.heap.as_ref();
        let last = self.sleepers.get() - 1;
        self.sleepers.set(last);
        heap[at].swap(&heap[last]);
        if at < last {
            self.rise(at);
            self.sink(at);
        }
        heap[last].get()
    }

    fn rise(&self, mut at: usize) {
        let heap = self.heap.as_ref();
        while at > 0 && heap[at].get().deadline < heap[(at - 1) / 2].get().deadline {
            heap[at].swap(&heap[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
    }

    fn sink(&self, mut at: usize) {
        let heap = &self.heap.as_ref()[..self.sleepers.get()];
        while let Some(left) = heap.get(2 * at + 1) {
            let right_is_less = heap.get(2 * at + 2).is_some_and(|right| right.get().deadline < left.get().deadline);
            let child = 2 * at + 1 + usize::from(right_is_less);
            if heap[at].get().deadline <= heap[child].get().deadline {
                break;
            }
            heap[at].swap(&heap[child]);
            at = child;
        }
    }
}

/// A sleep until a time of a [`Timer`].
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Sleep<'m, 'r, A: AsRef<[Cell<Sleeper>]>, N: Node, S: Scheduler, W> {
    timer: &'m Timer<A>,
    handle: &'m mut Handle<'r, N, S, W>,
    deadline: u64,
}

impl<A: AsRef<[Cell<Sleeper>]>, N: Node, S: Scheduler, W> Future for Sleep<'_, '_, A, N, S, W> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.timer.poll_sleep_until(self.handle, self.deadline)
    }
}

impl<A: AsRef<[Cell<Sleeper>]>, N: Node, S: Scheduler, W> Drop for Sleep<'_, '_, A, N, S, W> {
    fn drop(&mut self) {
        let word = self.handle.node().word();
        if word.is_listed() {
            let sleepers = &self.timer.heap.as_ref()[..self.timer.sleepers.get()];
            let at = sleepers.iter().position(|sleeper| sleeper.get().thread == self.handle.number());
            self.timer.remove(at.expect("a thread that sleeps has a place"));
        }
        // A wake-up that has come has nothing to pass on.
        if !word.is_free() {
            word.set_free();
        }
    }
}
