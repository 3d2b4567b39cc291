//! The executor, which runs futures on a runtime.
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

// The inbox: the threads that other OS threads, or interrupts, have woken.
//
// It has a bit for each thread, and a flag that requests a check. A waker sets the bit and then the flag; the owner
// clears the flag and then takes the bits. Both change the flag by read-modify-write, so a waker that finds the flag
// set precedes the clearing that will take its bit. Acquire and release along that chain make the bit visible. The
// waker that sets the flag unparks the owner, whose token (`std::thread::park`) keeps an unpark that precedes the
// park.

const WORD: usize = usize::BITS as usize;
const WORDS: usize = if cfg!(loom) { 1 } else { 4096 / WORD };

/// The wake-ups from other OS threads for a running runtime.
///
/// Threads whose numbers are equal modulo 4,096 share a bit, so with more threads a wake-up also polls others
/// spuriously. That limits the size to half a KiB, on the stack of the run.
#[derive(Debug)]
pub struct Inbox {
    bits: [AtomicUsize; WORDS],
    any: AtomicBool,
    #[cfg(any(feature = "std", loom))]
    owner: Thread,
}

impl Inbox {
    /// Returns an empty inbox of this OS thread.
    #[allow(clippy::new_without_default, reason = "it is made once for each run")]
    pub fn new() -> Self {
        Self {
            bits: array::from_fn(|_| AtomicUsize::new(0)),
            any: AtomicBool::new(false),
            #[cfg(any(feature = "std", loom))]
            owner: thread::current(),
        }
    }

    /// Records that thread `index` was woken. Any OS thread may call it.
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

    /// Calls `ready` for each of the `threads` that may have been woken. The check is cheap and may miss a concurrent
    /// wake-up.
    #[inline(always)]
    pub fn glance(&self, threads: usize, ready: impl FnMut(u32)) {
        if self.any.load(Relaxed) {
            self.drain(threads, ready);
        }
    }

    /// Calls `ready` for each of the `threads` that may have been woken. A missed wake-up comes with a new unpark: a
    /// waker that sets the flag after this swap, which reads the latest value, finds it clear.
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

// The table in which a waker finds its runtime, if that is still running.
//
// A [`Waker`](core::task::Waker) may outlive everything, so it contains a number instead of a pointer: an index into
// this table. A runtime occupies an entry while it runs. Wakers are therefore not counted, cost nothing to clone, and
// need no heap. One that outlives its runtime wakes no thread, or a thread of a later runtime spuriously, which
// futures must tolerate anyway.
//
// | bits of the state | meaning |
// |---|---|
// | bit 0, `TAKEN` | a runtime occupies the entry |
// | bit 1, `OPEN` | its inbox may be used |
// | the rest | number of wakers that are reading the entry |
//
// All changes of a state are read-modify-write, so they have one order. A waker adds itself before it reads `OPEN`;
// the runtime closes the entry before it waits for the wakers to leave. Either the waker sees it closed, or the
// runtime waits for the waker.

const TAKEN: usize = 1;
const OPEN: usize = 2;
const VISITOR: usize = 4;

/// Largest number of runtimes that can run futures at the same time.
pub(crate) const PLACES: usize = 256;

#[cfg(not(loom))]
pub(crate) static REGISTRY: [Place; PLACES] = [const { Place::new() }; PLACES];

/// An entry of the table.
#[derive(Debug)]
pub struct Place {
    state: AtomicUsize,
    inbox: AtomicPtr<Inbox>,
}

impl Place {
    /// Returns an empty entry.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { state: AtomicUsize::new(0), inbox: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Returns an empty entry.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { state: AtomicUsize::new(0), inbox: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Runs `work` while wakers can find this inbox here. Returns `None`, without running it, if the entry is
    /// occupied.
    pub fn with<R>(&self, inbox: &Inbox, work: impl FnOnce() -> R) -> Option<R> {
        if self.state.fetch_or(TAKEN, Acquire) & TAKEN != 0 {
            return None;
        }
        self.inbox.store(ptr::from_ref(inbox).cast_mut(), Relaxed);
        self.state.fetch_or(OPEN, Release);
        let _leave = Leave(self);
        Some(work())
    }

    /// Wakes thread `index` of the runtime in this entry, if there is one.
    pub fn wake(&self, index: u32) {
        if self.state.fetch_add(VISITOR, Acquire) & OPEN != 0 {
            // SAFETY: the pointer was stored before `OPEN` was set. It came from a reference that lives until `with`
            // returns, and `with` waits for this visitor, which came before the entry was closed.
            unsafe { &*self.inbox.load(Relaxed) }.wake(index);
        }
        self.state.fetch_sub(VISITOR, Release);
    }
}

/// A guard that closes the entry, whether the work returns or panics.
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
