//! The loop that polls futures, and its idle state.

use super::{Inbox, PLACES, REGISTRY};
use crate::{
    node::{Link, Node},
    runtime::{Report, Runtime},
    schedulers::Scheduler,
};
#[cfg(feature = "std")]
use core::cell::Cell;
use core::{
    future::Future,
    mem::ManuallyDrop,
    pin::Pin,
    ptr,
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
};

impl<T, S: Scheduler, W> Runtime<'_, Link<T>, S, W> {
    /// Runs futures until all have finished, or the remaining ones wait for each other.
    ///
    /// The future at index `i` is the body of thread `i`, and should use [`handle(i)`](Runtime::handle) and no other.
    /// A thread may wait for something other than the semaphores of this crate and the types made of them, for
    /// example for a future that another OS thread will wake. If no thread can run and there is such a thread, the OS
    /// thread sleeps until a wake-up comes.
    ///
    /// # Panics
    ///
    /// Panics if there are not as many futures as threads, or if 256 runtimes are running already.
    #[cfg(feature = "std")]
    pub fn run<F: Future<Output = ()>>(&self, futures: Pin<&mut [F]>) -> Report {
        self.run_with(futures, |runtime| {
            let sleeps = runtime.awaits_wake();
            if sleeps {
                std::thread::park();
            }
            sleeps
        })
    }

    /// Runs futures; when none can run, calls `idle`, and continues while it returns true.
    ///
    /// `idle` handles external events: it signals semaphores, advances a [`Timer`](crate::Timer), or sleeps until an
    /// interrupt. With `std`, it can call `std::thread::park` or `park_timeout`, which a wake-up from another OS
    /// thread ends.
    ///
    /// # Panics
    ///
    /// Panics if there are not as many futures as threads, or if 256 runtimes are running already.
    pub fn run_with<F: Future<Output = ()>>(
        &self,
        mut futures: Pin<&mut [F]>,
        mut idle: impl FnMut(&Self) -> bool,
    ) -> Report {
        let (bodies, threads) = (futures.len(), self.thread_count());
        assert!(bodies == threads, "a runtime of {threads} threads needs as many futures, not {bodies}");
        let inbox = Inbox::new();
        for (index, place) in REGISTRY.iter().enumerate() {
            let run = || self.run_at(index, &inbox, futures.as_mut(), &mut idle);
            if let Some(report) = place.with(&inbox, run) {
                return report;
            }
        }
        panic!("{PLACES} runtimes are running futures already");
    }

    /// Returns whether an unfinished thread waits for something that only a waker can report.
    pub fn awaits_wake(&self) -> bool {
        self.nodes.iter().any(|link| link.word().is_free())
    }

    fn run_at<F: Future<Output = ()>>(
        &self,
        place: usize,
        inbox: &Inbox,
        futures: Pin<&mut [F]>,
        idle: &mut impl FnMut(&Self) -> bool,
    ) -> Report {
        let work = || {
            // No waker could reach the runtime before, so all threads are polled once.
            for thread in 0..self.nodes.len() as u32 {
                self.wake(thread);
            }
            self.poll_all(place, inbox, futures, idle)
        };
        #[cfg(feature = "std")]
        // SAFETY: `wake_local::<T, S, W>` may be called with a pointer to this runtime, which outlives this call, and
        // from this OS thread, because it only takes a shared reference.
        return unsafe { LocalWake::with(place, core::ptr::from_ref(self).cast(), wake_local::<T, S, W>, work) };
        #[cfg(not(feature = "std"))]
        work()
    }

    fn poll_all<F: Future<Output = ()>>(
        &self,
        place: usize,
        inbox: &Inbox,
        futures: Pin<&mut [F]>,
        idle: &mut impl FnMut(&Self) -> bool,
    ) -> Report {
        // SAFETY: nothing is moved out of the slice; its elements are only pinned again.
        let futures = unsafe { futures.get_unchecked_mut() };
        loop {
            while let Some(thread) = self.next() {
                let waker = waker(place, thread);
                // SAFETY: `next` returns numbers of threads, and there are as many futures. The element was pinned
                // with its slice.
                let future = unsafe { Pin::new_unchecked(futures.get_unchecked_mut(thread as usize)) };
                if let Poll::Ready(()) = future.poll(&mut Context::from_waker(&waker)) {
                    self.nodes[thread as usize].word().set_finished();
                }
                inbox.glance(futures.len(), |woken| self.wake(woken));
            }
            // A wake-up that comes from now on ends a park.
            inbox.drain(futures.len(), |woken| self.wake(woken));
            if self.is_idle() && !idle(self) {
                return self.report();
            }
            inbox.drain(futures.len(), |woken| self.wake(woken));
        }
    }

    fn is_idle(&self) -> bool {
        !self.nodes.iter().any(|link| link.word().is_queued())
    }

    /// Makes a thread ready on behalf of a waker.
    #[inline(always)]
    fn wake(&self, thread: u32) {
        if self.nodes.get(thread as usize).is_some_and(|link| !link.word().is_finished()) {
            self.make_ready(thread);
        }
    }
}

/// Wakes a thread of the runtime behind a pointer.
///
/// # Safety
///
/// The pointer must be to a `Runtime<Link<T>, S, W>` of this OS thread.
#[cfg(feature = "std")]
unsafe fn wake_local<T, S: Scheduler, W>(runtime: *const (), thread: u32) {
    // SAFETY: by the contract of this function, the pointer is to such a runtime of this OS thread.
    unsafe { &*runtime.cast::<Runtime<'_, Link<T>, S, W>>() }.wake(thread);
}

// Standard wakers that are numbers: an index into the registry and a thread's number. They own nothing.

const INDEX_BITS: u32 = 24;

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, |_| ());

fn clone(data: *const ()) -> RawWaker {
    RawWaker::new(data, &VTABLE)
}

/// Returns the waker of thread `index` of the runtime in entry `place`. Dropping it would have no effect.
#[inline(always)]
pub(crate) fn waker(place: usize, index: u32) -> ManuallyDrop<Waker> {
    let data = ptr::without_provenance(place << INDEX_BITS | index as usize);
    // SAFETY: the functions of the table accept any number as data, own nothing, and may be called from any OS
    // thread.
    ManuallyDrop::new(unsafe { Waker::new(data, &VTABLE) })
}

fn wake(data: *const ()) {
    let (place, index) = (data.addr() >> INDEX_BITS, data.addr() as u32 & ((1 << INDEX_BITS) - 1));
    #[cfg(feature = "std")]
    if LocalWake::wake(place, index) {
        return;
    }
    REGISTRY[place].wake(index);
}

/// The wake function of the runtime that runs on this OS thread: wake-ups from this thread need no atomic operations.
#[cfg(feature = "std")]
#[derive(Clone, Copy)]
pub(crate) struct LocalWake {
    place: usize,
    runtime: *const (),
    wake: unsafe fn(*const (), u32),
}

#[cfg(feature = "std")]
std::thread_local! {
    static LOCAL_WAKE: Cell<LocalWake> =
        const { Cell::new(LocalWake { place: usize::MAX, runtime: ptr::null(), wake: |_, _| () }) };
}

#[cfg(feature = "std")]
impl LocalWake {
    /// Runs `work` while `wake(runtime, index)` is called for the wake-ups of `place` from this OS thread.
    ///
    /// # Safety
    ///
    /// `wake(runtime, index)` must be safe to call from this thread until `work` returns or panics, within it.
    pub(crate) unsafe fn with<R>(
        place: usize,
        runtime: *const (),
        wake: unsafe fn(*const (), u32),
        work: impl FnOnce() -> R,
    ) -> R {
        struct Restore(LocalWake);
        impl Drop for Restore {
            fn drop(&mut self) {
                LOCAL_WAKE.set(self.0);
            }
        }
        let _restore = Restore(LOCAL_WAKE.replace(LocalWake { place, runtime, wake }));
        work()
    }

    #[inline(always)]
    fn wake(place: usize, index: u32) -> bool {
        let local = LOCAL_WAKE.get();
        if local.place != place {
            return false;
        }
        // SAFETY: `with` is running on this OS thread, since `local` is only set during its call, and by its contract
        // `wake` may be called with `runtime` until then.
        unsafe { (local.wake)(local.runtime, index) };
        true
    }
}
