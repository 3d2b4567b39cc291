//! Which threads were woken by other OS threads, or by interrupts.
//!
//! A bit for each thread, and a flag that says to look. A waker sets the bit and then the flag; the owner clears the
//! flag and then takes the bits. Both change the flag by read-modify-write, so a waker that finds the flag set comes
//! before the clearing that will take its bit: acquire and release along that chain make the bit visible. The one who
//! sets the flag unparks the owner, whose token (`std::thread::park`) keeps an unpark that comes before the park.
use core::array;

#[cfg(any(feature = "std", loom))]
use crate::atomic::thread::{self, Thread};
use crate::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

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

    /// Calls `ready` for each of the `threads` that may have been woken. What it misses comes with a new unpark:
    /// whoever sets the flag after this swap, which reads the latest value, finds it clear.
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
