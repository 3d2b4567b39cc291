//! The loop that polls futures, and what it does when none can run.
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::{
    Inbox,
    registry::{PLACES, REGISTRY},
    waker,
};
use crate::{
    node::{Link, Node},
    report::Report,
    runtime::Runtime,
    scheduler::Scheduler,
};

impl<T, S: Scheduler, W> Runtime<'_, Link<T>, S, W> {
    /// Runs futures until all have finished, or those that are left wait for each other.
    ///
    /// The future at place `i` is the body of thread `i`, and should use [`handle(i)`](Runtime::handle) and no
    /// other.
    /// When no thread can run and one of them waits for something else than this crate's semaphores and what is made of
    /// them, as a future that another OS thread will wake, the OS thread sleeps until a wake comes.
    ///
    /// # Panics
    /// If there are not as many futures as threads, or if 256 runtimes are running already.
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

    /// Runs futures; when none can run, asks `idle`, and goes on while it returns true.
    ///
    /// `idle` is for what comes from outside: it signals semaphores, advances a [`Timer`](crate::Timer), sleeps until
    /// an interrupt, or, with `std`, calls `std::thread::park` or `park_timeout`, which a wake from elsewhere ends.
    ///
    /// # Panics
    /// As [`run`](Self::run).
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

    /// Whether a thread that has not finished waits for something that only a waker can tell.
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
            // Nobody could be told of wakes before, so all are polled once.
            for thread in 0..self.nodes.len() as u32 {
                self.wake(thread);
            }
            self.poll_all(place, inbox, futures, idle)
        };
        #[cfg(feature = "std")]
        // SAFETY: `wake_local::<T, S, W>` may be called with a pointer to this runtime, which outlives this call, and
        // from this OS thread, for it takes no more than a shared reference.
        return unsafe { waker::LocalWake::with(place, core::ptr::from_ref(self).cast(), wake_local::<T, S, W>, work) };
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
                let waker = waker::waker(place, thread);
                // SAFETY: `next` returns numbers of threads, and there are as many futures. The element was pinned with
                // its slice.
                let future = unsafe { Pin::new_unchecked(futures.get_unchecked_mut(thread as usize)) };
                if let Poll::Ready(()) = future.poll(&mut Context::from_waker(&waker)) {
                    self.nodes[thread as usize].word().set_finished();
                }
                inbox.glance(futures.len(), |woken| self.wake(woken));
            }
            // A wake that comes from now on ends a park.
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

    /// Somebody's waker says that a thread should be polled.
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
/// The pointer must be to a `Runtime<Link<T>, S, W>` of this OS thread.
#[cfg(feature = "std")]
unsafe fn wake_local<T, S: Scheduler, W>(runtime: *const (), thread: u32) {
    // SAFETY: the caller's.
    unsafe { &*runtime.cast::<Runtime<'_, Link<T>, S, W>>() }.wake(thread);
}
