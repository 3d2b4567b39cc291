//! Reciprocating locks: one word in the lock, one waiting element per thread, bounded bypass.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `arrivals` = 0 | uncontended and released | the holder, by compare-and-swap |
//! | `arrivals` = 1 | held; no thread has arrived since the last segment was detached | the holder, by swap |
//! | `arrivals` = element | held; the newest of the threads that have arrived, or the holder's own element | each arriving thread, by swap |
//! | `gate` of an element | 0: its thread waits; otherwise the thread holds the lock, and the value is the end of its segment | its thread, to 0; the releasing thread, once |
//!
//! Arriving threads push their elements on a stack, and each keeps the value that it found as its successor: so the
//! stack is linked by local variables. A releasing thread that has a successor in its segment hands the lock to it,
//! with the address at which the segment ends. Otherwise it detaches the stack, which becomes the next segment, and
//! hands the lock to the newest thread of it. An element that marks the end of a segment is compared and never
//! dereferenced: its thread may have left. So a thread needs one element, whatever number of locks it holds.
//!
//! # Ordering
//! The push is an `AcqRel` swap: `Acquire` for the data of the holder that stored 0, `Release` so that the gate is seen
//! as 0 before its element is found. Detaching is an `AcqRel` swap (`Acquire` for those gates). The handoff is a
//! `Release` store to the gate, which is read with `Acquire`. The release to 0 is a `Release` compare-and-swap. A
//! thread does not sleep, so no wake can be lost.
//!
//! # Fairness
//! Within a segment the order is last in, first out; a segment closes when it is detached. So a thread that waits is
//! bypassed at most once by each other thread: a thread gets at least half of the share of any other.
//!
//! # A stopped or dead holder
//! As with `mcs`: a stopped holder or waiter stops all waiters behind it, and throughput collapses with more threads
//! than CPUs.
//!
//! # Source
//! Dave Dice and Alex Kogan, "Reciprocating Locks", PPoPP 2025 (arXiv 2501.02380), listing 1.

use super::algorithm::Algorithm;
use super::atomic::{AtomicPtr, Ordering, spin_until};
use std::ptr::{null_mut, without_provenance_mut};

/// A thread's waiting element, on its own cache lines: its thread spins on it.
#[derive(Default)]
#[repr(align(128))]
pub struct Element {
    gate: AtomicPtr<Element>,
}

/// The value for a held lock without arrivals.
const EMPTY: usize = 1;

fn empty() -> *mut Element {
    without_provenance_mut(EMPTY)
}

/// The position of an acquisition in its segment.
#[derive(Clone, Copy)]
pub struct Position {
    /// The next thread of the segment; null if there is none.
    successor: *mut Element,
    /// The value of `arrivals`, unless threads have arrived, if this is the last thread of the segment; otherwise the
    /// address at which the segment ends.
    end: *mut Element,
}

#[derive(Default)]
pub struct Reciprocating {
    arrivals: AtomicPtr<Element>,
}

impl Reciprocating {
    /// Acquires the lock with this element of the calling thread.
    ///
    /// # Safety
    /// No other thread waits with this element, and its memory is valid until this call returns.
    #[inline(always)]
    pub unsafe fn acquire_with(&self, own: *mut Element) -> Position {
        // SAFETY: the caller guarantees that the element is valid.
        let gate = unsafe { &(*own).gate };
        gate.store(null_mut(), Ordering::Relaxed);
        let before = self.arrivals.swap(own, Ordering::AcqRel);
        if before.is_null() {
            return Position { successor: null_mut(), end: own };
        }
        let successor = if before == empty() { null_mut() } else { before };
        let mut end = null_mut();
        spin_until(|| {
            end = gate.load(Ordering::Acquire);
            !end.is_null()
        });
        // The successor that was found is the end of the segment: a thread that has already held the lock.
        if successor == end { Position { successor: null_mut(), end: empty() } } else { Position { successor, end } }
    }

    /// Acquires the lock with this element if it is released.
    #[inline(always)]
    pub fn try_acquire_with(&self, own: *mut Element) -> Option<Position> {
        // No thread hands the lock to this element: its address only marks the end of a segment.
        let is_acquired = self.arrivals.compare_exchange(null_mut(), own, Ordering::Acquire, Ordering::Relaxed).is_ok();
        is_acquired.then_some(Position { successor: null_mut(), end: own })
    }

    /// Returns whether a thread holds the lock at this moment.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        !self.arrivals.load(Ordering::Relaxed).is_null()
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock by the acquisition that returned `position`.
    #[inline(always)]
    pub unsafe fn release_from(&self, position: Position) {
        let Position { successor, end } = position;
        if !successor.is_null() {
            // SAFETY: the successor's thread waits, so its element is valid until this store.
            unsafe { (*successor).gate.store(end, Ordering::Release) };
            return;
        }
        if self.arrivals.compare_exchange(end, null_mut(), Ordering::Release, Ordering::Relaxed).is_ok() {
            return;
        }
        let newest = self.arrivals.swap(empty(), Ordering::AcqRel);
        // SAFETY: `newest` is neither null, since the lock is held, nor `end`, since the comparison failed and only the
        // holder restores it. So it is the element of a thread that waits.
        unsafe { (*newest).gate.store(end, Ordering::Release) };
    }
}

thread_local! {
    static OWN: Element = Element::default();
}

impl Algorithm for Reciprocating {
    type Held = Position;

    fn new() -> Self {
        Self::default()
    }

    #[inline(always)]
    fn acquire(&self) -> Position {
        // SAFETY: the thread waits for one lock at a time, and lives until it has the lock.
        OWN.with(|own| unsafe { self.acquire_with((&raw const *own).cast_mut()) })
    }

    #[inline(always)]
    unsafe fn release(&self, held: Position) {
        // SAFETY: the caller makes the same guarantee.
        unsafe { self.release_from(held) }
    }
}
