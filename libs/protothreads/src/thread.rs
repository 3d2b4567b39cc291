//! Hand-written threads: a state machine, a step at a time.
use core::task::Poll;

use crate::{
    handle::Handle,
    node::{Node, Slot},
    runtime::{Report, Runtime},
    schedulers::Scheduler,
};

/// A hand-written thread: a state machine.
///
/// Its state is its fields, usually [`Cell`](core::cell::Cell)s, for threads refer to each other. Where a wait comes in
/// the midst of a step, a field says where to go on; a thread with a single wait needs none.
pub trait Thread: Sized {
    /// What all threads of the runtime share.
    type Shared;

    /// Runs until the thread has finished (`Ready`) or has to wait (`Pending`).
    ///
    /// Before it returns `Pending` it must have polled something that was not ready, or have [given
    /// way](Handle::give_way). When it is called again it must poll the same thing again, until that is ready: it is
    /// then the thread's own. Under a polling scheduler it is called many times for nothing.
    fn step<S: Scheduler>(&self, me: &ThreadHandle<'_, Self, S>) -> Poll<()>;
}

/// The handle of a hand-written thread of type `T` under scheduler `S`.
pub type ThreadHandle<'r, T, S> = Handle<'r, Slot<T>, S, <T as Thread>::Shared>;

/// The runtime of hand-written threads of type `T` under scheduler `S`.
pub type ThreadRuntime<'r, T, S> = Runtime<'r, Slot<T>, S, <T as Thread>::Shared>;

/// Runs hand-written threads until none can run.
///
/// All that have not finished and are not waiting begin in the order of the slice.
#[inline]
pub fn run<T: Thread, S: Scheduler>(threads: &[Slot<T>], scheduler: S, shared: &T::Shared) -> Report {
    run_with(threads, scheduler, shared, |_| false)
}

/// Runs hand-written threads; when none can run, asks `idle`, and goes on while it returns true.
///
/// `idle` is for what comes from outside: it signals semaphores, advances a [`Timer`](crate::Timer), sleeps until an
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

/// The parts of [`run_with`], for a program that has its own loop.
impl<T: Thread, S: Scheduler> Runtime<'_, Slot<T>, S, T::Shared> {
    /// All threads that have not finished and are not waiting can run from now on, in the order of the slice.
    pub fn begin(&self) {
        for (index, slot) in self.nodes.iter().enumerate() {
            if slot.word().is_free() || slot.word().is_granted() {
                self.make_ready(index as u32);
            }
        }
    }

    /// Runs those that can run, until none can.
    //
    // Inlined, so that the scheduler's own words are in registers: the runtime must not be somewhere in memory.
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
