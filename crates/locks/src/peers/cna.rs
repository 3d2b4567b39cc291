//! CNA: an MCS queue lock that hands off within a NUMA node as long as that is fair enough.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `tail` | the last node of the main queue; null: the lock is released | arriving threads, by swap; the holder, by compare-and-swap |
//!
//! | in a queue node | meaning | written by |
//! |---|---|---|
//! | `next` | the node behind it, null if none is known | the thread behind it; the holder, when it moves nodes |
//! | `grant` | 0: its thread waits; 1: it holds the lock, and there is no secondary queue; otherwise it holds the lock, and this is the first node of the secondary queue | its thread, to 0; the releasing thread, once; the holder |
//! | `numa` | the NUMA node of its thread | its thread, before it waits |
//! | `last` | in the first node of the secondary queue: the last node of it | the holder |
//! | `handoffs` | in the node of the holder: a count of handoffs since the lock was last released without a waiter | its thread, to 0; the releasing thread, before the handoff |
//!
//! A releasing thread hands the lock to the first waiter of the same NUMA node, and moves the waiters before that one
//! to the secondary queue. The secondary queue goes back in front of the main queue when the main queue has no waiter
//! of this NUMA node, and once in `EVERY` handoffs.
//!
//! # Ordering
//! As with `mcs`: joining is an `AcqRel` swap of `tail`; `next` and `grant` are stored with `Release` and read with
//! `Acquire`. The secondary queue is accessed by the holder only, so the handoff orders it.
//!
//! # Fairness
//! First in, first out within a NUMA node. A waiter of another node waits for at most `EVERY` handoffs until its queue
//! goes back to the front. With one NUMA node the lock is `mcs`.
//!
//! # A stopped or dead holder
//! As with `mcs`.
//!
//! # Source
//! Dave Dice and Alex Kogan, "Compact NUMA-aware Locks", EuroSys 2019 (arXiv 1810.05600). The paper draws the handoffs
//! that end a NUMA node's turn by a pseudo-random number; here they are counted, in the nodes, so that the lock is one
//! word as in the paper. Its second optimisation, which
//! shuffles the queue only now and then, is not here.

use super::atomic::{AtomicPtr, AtomicU32, Ordering, spin_until};
use std::ptr::{null_mut, without_provenance_mut};

#[derive(Default)]
pub struct QueueNode {
    next: AtomicPtr<QueueNode>,
    grant: AtomicPtr<QueueNode>,
    last: AtomicPtr<QueueNode>,
    numa: AtomicU32,
    handoffs: AtomicU32,
}

/// Returns the grant without a secondary queue.
fn granted() -> *mut QueueNode {
    without_provenance_mut(1)
}

/// The queue of the other NUMA nodes goes back in front once in `EVERY` handoffs, by default as often as in the paper.
pub struct Cna<const EVERY: u32 = 0x1_0000> {
    tail: AtomicPtr<QueueNode>,
}

impl<const EVERY: u32> Cna<EVERY> {
    /// Returns a released lock.
    pub fn new() -> Self {
        Self { tail: AtomicPtr::new(null_mut()) }
    }

    /// Acquires the lock with this queue node; `numa` returns the number of the NUMA node, and is called if the lock is
    /// contended.
    ///
    /// # Safety
    /// The queue node is unused, and its memory is valid until the release with it has returned.
    #[inline(always)]
    pub unsafe fn acquire_with(&self, own: *mut QueueNode, numa: impl FnOnce() -> u32) {
        // SAFETY: the caller guarantees that the node is valid.
        let node = unsafe { &*own };
        node.next.store(null_mut(), Ordering::Relaxed);
        node.grant.store(null_mut(), Ordering::Relaxed);
        node.numa.store(u32::MAX, Ordering::Relaxed);
        node.handoffs.store(0, Ordering::Relaxed);
        let before = self.tail.swap(own, Ordering::AcqRel);
        if before.is_null() {
            node.grant.store(granted(), Ordering::Relaxed);
            return;
        }
        node.numa.store(numa(), Ordering::Relaxed);
        // SAFETY: the thread of `before` does not finish its release before it has seen this link.
        unsafe { (*before).next.store(own, Ordering::Release) };
        spin_until(|| !node.grant.load(Ordering::Acquire).is_null());
    }

    /// Acquires the lock with this queue node if it is released.
    ///
    /// # Safety
    /// The requirements are those of [`acquire_with`](Self::acquire_with).
    #[inline(always)]
    pub unsafe fn try_acquire_with(&self, own: *mut QueueNode) -> bool {
        // SAFETY: the caller guarantees that the node is valid.
        let node = unsafe { &*own };
        node.next.store(null_mut(), Ordering::Relaxed);
        node.grant.store(granted(), Ordering::Relaxed);
        node.numa.store(u32::MAX, Ordering::Relaxed);
        node.handoffs.store(0, Ordering::Relaxed);
        self.replace_tail(null_mut(), own)
    }

    /// Returns whether a thread holds the lock at this moment.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        !self.tail.load(Ordering::Relaxed).is_null()
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock by an acquisition with this queue node.
    #[inline(always)]
    pub unsafe fn release_with(&self, own: *mut QueueNode, numa: impl FnOnce() -> u32) {
        // SAFETY: the caller guarantees that the node is valid.
        let node = unsafe { &*own };
        let secondary = node.grant.load(Ordering::Relaxed);
        if node.next.load(Ordering::Acquire).is_null() {
            if secondary == granted() {
                if self.replace_tail(own, null_mut()) {
                    return;
                }
            } else {
                // The secondary queue becomes the main queue.
                // SAFETY: the threads of the secondary queue wait, so their nodes are valid.
                let last = unsafe { (*secondary).last.load(Ordering::Relaxed) };
                if self.replace_tail(own, last) {
                    // SAFETY: the thread of the node waits.
                    unsafe { grant(secondary, granted(), node.handoffs.load(Ordering::Relaxed)) };
                    return;
                }
            }
            spin_until(|| !node.next.load(Ordering::Acquire).is_null());
        }
        // SAFETY: the lock is held by `own`, which has a successor.
        unsafe { Self::hand_off(node, numa) };
    }

    fn replace_tail(&self, own: *mut QueueNode, by: *mut QueueNode) -> bool {
        self.tail.compare_exchange(own, by, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// # Safety
    /// The lock is held by the thread of this node, which has a successor.
    unsafe fn hand_off(node: &QueueNode, numa: impl FnOnce() -> u32) {
        let handoffs = node.handoffs.load(Ordering::Relaxed).wrapping_add(1);
        let next = node.next.load(Ordering::Relaxed);
        // SAFETY: all nodes of both queues belong to threads that wait; the holder alone moves them.
        unsafe {
            let is_local_turn = !handoffs.is_multiple_of(EVERY);
            let local = if is_local_turn { successor_on(own_numa(node, numa), node) } else { null_mut() };
            // The search may have made a secondary queue.
            let secondary = node.grant.load(Ordering::Relaxed);
            if !local.is_null() {
                grant(local, secondary, handoffs);
            } else if secondary == granted() {
                grant(next, granted(), handoffs);
            } else {
                let last = (*secondary).last.load(Ordering::Relaxed);
                (*last).next.store(next, Ordering::Relaxed);
                grant(secondary, granted(), handoffs);
            }
        }
    }
}

/// Hands the lock to the thread of this node, with the secondary queue and the count.
///
/// # Safety
/// The node's thread waits.
unsafe fn grant(to: *mut QueueNode, secondary: *mut QueueNode, handoffs: u32) {
    // SAFETY: the node is valid until its thread has seen the grant.
    unsafe {
        (*to).handoffs.store(handoffs, Ordering::Relaxed);
        (*to).grant.store(secondary, Ordering::Release);
    }
}

/// Returns the NUMA node of the holder: known if it had to wait.
fn own_numa(node: &QueueNode, numa: impl FnOnce() -> u32) -> u32 {
    match node.numa.load(Ordering::Relaxed) {
        u32::MAX => numa(),
        known => known,
    }
}

/// Returns the first waiter of this NUMA node, and moves those before it to the secondary queue; null without one.
///
/// # Safety
/// The lock is held by the thread of this node, which has a successor.
unsafe fn successor_on(numa: u32, node: &QueueNode) -> *mut QueueNode {
    let first = node.next.load(Ordering::Relaxed);
    // SAFETY: the nodes of the queue belong to threads that wait. `Acquire` makes what their threads wrote visible.
    unsafe {
        if (*first).numa.load(Ordering::Relaxed) == numa {
            return first;
        }
        let (mut last, mut current) = (first, (*first).next.load(Ordering::Acquire));
        while !current.is_null() {
            if (*current).numa.load(Ordering::Relaxed) == numa {
                let secondary = node.grant.load(Ordering::Relaxed);
                let head = if secondary == granted() {
                    node.grant.store(first, Ordering::Relaxed);
                    first
                } else {
                    let last = (*secondary).last.load(Ordering::Relaxed);
                    (*last).next.store(first, Ordering::Relaxed);
                    secondary
                };
                (*last).next.store(null_mut(), Ordering::Relaxed);
                (*head).last.store(last, Ordering::Relaxed);
                return current;
            }
            last = current;
            current = (*current).next.load(Ordering::Acquire);
        }
    }
    null_mut()
}

/// Returns the NUMA node of the CPU that runs the calling thread.
pub fn current_numa() -> u32 {
    let (mut cpu, mut numa) = (0, 0);
    // SAFETY: both pointers are to integers of the size that the call writes.
    if unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut numa, 0_usize) } == 0 { numa } else { 0 }
}
