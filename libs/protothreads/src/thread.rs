//! Hand-written threads: a state machine, one step at a time.
use core::task::Poll;

use crate::{
    handle::Handle,
    node::{Node, Slot},
    runtime::{Report, Runtime},
    schedulers::Scheduler,
};

/// A hand-written thread: a state machine.
///
/// Its state is its fields, usually [`Cell`](core::cell::Cell)s, because threads refer to each other. If a step waits
/// in the middle, a field records where to continue; a thread with a single wait needs none.
pub trait Thread: Sized {
    /// Data that all threads of the runtime share.
    type Shared;

    /// Runs until the thread has finished (`Ready`) or must wait (`Pending`).
    ///
    /// Before it returns `Pending` it must have polled something that was not ready, or have
    /// [yielded](Handle::give_way). When it is called again it must poll the same thing again, until that is ready
    /// and belongs to the thread. Under a polling scheduler it is called many times without a reason.
    fn step<S: Scheduler>(&self, handle: &ThreadHandle<'_, Self, S>) -> Poll<()>;
}

/// The handle of a hand-written thread of type `T` under scheduler `S`.
pub type ThreadHandle<'r, T, S> = Handle<'r, Slot<T>, S, <T as Thread>::Shared>;

/// The runtime of hand-written threads of type `T` under scheduler `S`.
pub type ThreadRuntime<'r, T, S> = Runtime<'r, Slot<T>, S, <T as Thread>::Shared>;

/// Runs hand-written threads until none can run.
///
/// All threads that have not finished and are not waiting start in the order of the slice.
#[inline]
pub fn run<T: Thread, S: Scheduler>(threads: &[Slot<T>], scheduler: S, shared: &T::Shared) -> Report {
    run_with(threads, scheduler, shared, |_| false)
}

/// Runs hand-written threads; when none can run, calls `idle`, and continues while it returns true.
///
/// `idle` handles external events: it signals semaphores, advances a [`Timer`](crate::Timer), or sleeps until an
/// interrupt. If it returns true and has made no thread ready, it is called again.
#[inline]
pub fn run_with<T: Thread, S: Scheduler>(
    threads: &[Slot<T>],
    scheduler: S,
    shared: &T::Shared,
    mut idle: impl FnMut(&ThreadRuntime<'_, T, S>) -> bool,
) -> Report {
    let runtime = Runtime::new(threads, scheduler, shared);
    runtime.begin();
    loop {
        runtime.run_ready();
        if !idle(&runtime) {
            return runtime.report();
        }
    }
}

/// The parts of [`run_with`], for a program with its own loop.
impl<T: Thread, S: Scheduler> Runtime<'_, Slot<T>, S, T::Shared> {
    /// Makes all threads that have not finished and are not waiting ready, in the order of the slice.
    pub fn begin(&self) {
        for (index, slot) in self.nodes.iter().enumerate() {
            if slot.word().is_free() || slot.word().is_granted() {
                self.make_ready(index as u32);
            }
        }
    }

    /// Runs ready threads until none can run.
    // Inlined, so that the scheduler's own words are in registers: the runtime must not be in memory.
    #[inline(always)]
    pub fn run_ready(&self) {
        while let Some(thread) = self.next() {
            let slot = &self.nodes[thread as usize];
            if slot.thread().step(&Handle::new(self, thread)).is_ready() {
                slot.word().set_finished();
            }
        }
    }
}
