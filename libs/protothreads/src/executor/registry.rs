//! Where a waker finds the runtime that it belongs to, if that is still running.
//!
//! A [`Waker`](core::task::Waker) may outlive everything, so it holds a number instead of a pointer: a place in this
//! table. A runtime takes a place while it runs. So wakers are not counted, cost nothing to clone, and need no heap;
//! one that is left over wakes nobody, or a thread of a later runtime for nothing, which futures must bear with anyway.
//!
//! | state | means |
//! |---|---|
//! | bit 0, `TAKEN` | a runtime has the place |
//! | bit 1, `OPEN` | its inbox may be used |
//! | the rest | wakers that are looking at the place |
//!
//! All changes of a state are read-modify-write, so they have one order. A waker adds itself before it looks at `OPEN`;
//! the runtime closes before it waits for the wakers to go. So either the waker sees it closed, or the runtime waits
//! for it.
use core::ptr;

use super::Inbox;
use crate::atomic::{
    AtomicPtr, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    pause,
};

const TAKEN: usize = 1;
const OPEN: usize = 2;
const VISITOR: usize = 4;

/// How many runtimes can run futures at the same time.
pub(crate) const PLACES: usize = 256;

#[cfg(not(loom))]
pub(crate) static REGISTRY: [Place; PLACES] = [const { Place::new() }; PLACES];

/// A place in the table.
#[derive(Debug)]
pub struct Place {
    state: AtomicUsize,
    inbox: AtomicPtr<Inbox>,
}

impl Place {
    /// An empty place.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { state: AtomicUsize::new(0), inbox: AtomicPtr::new(ptr::null_mut()) }
    }

    /// An empty place.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { state: AtomicUsize::new(0), inbox: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Runs `work` while wakers can find this inbox here. None, without running it, if the place is taken.
    pub fn with<R>(&self, inbox: &Inbox, work: impl FnOnce() -> R) -> Option<R> {
        if self.state.fetch_or(TAKEN, Acquire) & TAKEN != 0 {
            return None;
        }
        self.inbox.store(ptr::from_ref(inbox).cast_mut(), Relaxed);
        self.state.fetch_or(OPEN, Release);
        let _leave = Leave(self);
        Some(work())
    }

    /// Wakes thread `index` of the runtime that is here, if one is.
    pub fn wake(&self, index: u32) {
        if self.state.fetch_add(VISITOR, Acquire) & OPEN != 0 {
            // SAFETY: the pointer was stored before `OPEN` was set. It came from a reference that lives until `with`
            // returns, and `with` waits for this visitor, who came before it was closed.
            unsafe { &*self.inbox.load(Relaxed) }.wake(index);
        }
        self.state.fetch_sub(VISITOR, Release);
    }
}

/// Closes the place, whether the work returns or panics.
struct Leave<'p>(&'p Place);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let place = self.0;
        place.state.fetch_and(!OPEN, AcqRel);
        while place.state.load(Acquire) >= VISITOR {
            pause();
        }
        place.state.fetch_and(!TAKEN, Release);
    }
}
