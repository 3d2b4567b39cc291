//! Runs futures on a runtime.
#![cfg_attr(loom, allow(dead_code))]

#[cfg(not(loom))]
mod run;

#[cfg(any(feature = "std", loom))]
use crate::atomic::thread::{self, Thread};
use crate::atomic::{
    AtomicBool, AtomicPtr, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    pause,
};
use core::{array, ptr};

// The inbox: which threads were woken by other OS threads, or by interrupts.
//
// A bit for each thread, and a flag that says to look. A waker sets the bit and then the flag; the owner clears the
// flag and then takes the bits. Both change the flag by read-modify-write, so a waker that finds the flag set comes
// before the clearing that will take its bit: acquire and release along that chain make the bit visible. The waker that
// sets the flag unparks the owner, whose token (`std::thread::park`) keeps an unpark that comes before the park.

const WORD: usize = usize::BITS as usize;
const WORDS: usize = if cfg!(loom) { 1 } else { 4096 / WORD };

/// The wakes from elsewhere for a runtime that is running.
///
/// Threads whose numbers are equal modulo 4,096 share a bit, so beyond that many threads a wake also polls others for
/// nothing. That keeps it at half a KiB, on the stack of the run.
#[derive(Debug)]
pub struct Inbox {
    bits: [AtomicUsize; WORDS],
    any: AtomicBool,
    #[cfg(any(feature = "std", loom))]
    owner: Thread,
}

impl Inbox {
    /// An empty inbox of this OS thread.
    #[allow(clippy::new_without_default, reason = "it is made once for each run")]
    pub fn new() -> Self {
        Self {
            bits: array::from_fn(|_| AtomicUsize::new(0)),
            any: AtomicBool::new(false),
            #[cfg(any(feature = "std", loom))]
            owner: thread::current(),
        }
    }

    /// Notes that thread `index` was woken. From any OS thread.
    pub fn wake(&self, index: u32) {
        let bit = index as usize % (WORDS * WORD);
        self.bits[bit / WORD].fetch_or(1 << (bit % WORD), Release);
        let first = !self.any.swap(true, AcqRel);
        #[cfg(any(feature = "std", loom))]
        if first {
            self.owner.unpark();
        }
        _ = first;
    }

    /// Calls `ready` for each of the `threads` that may have been woken. A glance: it may miss a wake of this moment.
    #[inline(always)]
    pub fn glance(&self, threads: usize, ready: impl FnMut(u32)) {
        if self.any.load(Relaxed) {
            self.drain(threads, ready);
        }
    }

    /// Calls `ready` for each of the `threads` that may have been woken. Wakes that it misses come with a new unpark:
    /// a waker that sets the flag after this swap, which reads the latest value, finds it clear.
    #[cold]
    pub fn drain(&self, threads: usize, mut ready: impl FnMut(u32)) {
        if !self.any.swap(false, AcqRel) {
            return;
        }
        for (at, word) in self.bits.iter().enumerate() {
            let mut bits = if word.load(Relaxed) == 0 { 0 } else { word.swap(0, Acquire) };
            while bits != 0 {
                let bit = at * WORD + bits.trailing_zeros() as usize;
                (bit..threads).step_by(WORDS * WORD).for_each(|thread| ready(thread as u32));
                bits &= bits - 1;
            }
        }
    }
}

// The table where a waker finds the runtime that it belongs to, if that is still running.
//
// A [`Waker`](core::task::Waker) may outlive everything, so it holds a number instead of a pointer: a place in this
// table. A runtime takes a place while it runs. So wakers are not counted, cost nothing to clone, and need no heap;
// one that outlives its runtime wakes no thread, or a thread of a later runtime for nothing, which futures must bear with anyway.
//
// | state | means |
// |---|---|
// | bit 0, `TAKEN` | a runtime has the place |
// | bit 1, `OPEN` | its inbox may be used |
// | the rest | wakers that are looking at the place |
//
// All changes of a state are read-modify-write, so they have one order. A waker adds itself before it looks at `OPEN`;
// the runtime closes before it waits for the wakers to go. So either the waker sees it closed, or the runtime waits
// for it.

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
