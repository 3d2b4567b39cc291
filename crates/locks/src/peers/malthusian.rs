//! Malthusian: an MCS queue lock that keeps surplus waiters out of circulation.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `tail` | the last node of the queue; null: the lock is released | arriving threads, by swap; the holder, by compare-and-swap |
//!
//! | in a node | meaning | written by |
//! |---|---|---|
//! | `next` | the node behind it, null if none is known | the thread behind it; the holder |
//! | `newer`, `older` | its neighbours in the passive list | the holder |
//! | `turn` | a [`Parking`]: the lock was handed to its thread | its thread; the releasing thread |
//! | `newest`, `oldest` | in the node of the holder: the ends of the passive list | its thread, to null; the releasing thread, before the handoff; the holder |
//! | `releases` | in the node of the holder: a count of releases since the lock was last released without a waiter | its thread, to 0; the releasing thread, before the handoff |
//!
//! A releasing thread that finds more than one waiter moves the first one to the passive list and hands the lock to the
//! second one. A releasing thread that finds none hands the lock to the newest thread of the passive list. So the
//! threads that circulate are as few as keep the lock busy. One release in `EVERY` hands the lock to the oldest thread
//! of the passive list. Waiters spin for about the time of a wake and then sleep.
//!
//! # Ordering
//! As with `mcs`: joining is an `AcqRel` swap of `tail`; `next` is stored with `Release` and read with `Acquire`. The
//! handoff is the signal of a [`Parking`]. The passive list is accessed by the holder only, so the handoff orders it.
//!
//! # Fairness
//! Unfair in the short term by design. In the long term each `EVERY`th release goes to the thread that has been passive
//! for longest, so no thread starves.
//!
//! # A stopped or dead holder
//! A stopped holder stops all; waiters sleep and take no CPU time. A stopped waiter to which the lock is handed stops
//! all until it runs.
//!
//! # Source
//! Dave Dice, "Malthusian Locks", EuroSys 2017 (arXiv 1511.06035): MCSCR with waiting by spin-then-park. The paper
//! makes the releases for long-term fairness Bernoulli trials of 1 in 1,000; here they are counted. The ends of the
//! passive list are in the nodes, so that the lock is one word: the list is empty when the lock is released without a
//! waiter. That the first waiter is the one that is removed, and not the last, is taken from memory of the paper.

use super::atomic::{AtomicPtr, AtomicU32, Ordering, spin_until};
use super::parking::Parking;
use std::ptr::null_mut;

#[derive(Default)]
pub struct QueueNode {
    next: AtomicPtr<QueueNode>,
    newer: AtomicPtr<QueueNode>,
    older: AtomicPtr<QueueNode>,
    turn: Parking,
    newest: AtomicPtr<QueueNode>,
    oldest: AtomicPtr<QueueNode>,
    releases: AtomicU32,
}

impl QueueNode {
    /// Prepares the node of a thread that arrives.
    fn reset(&self) {
        for pointer in [&self.next, &self.newest, &self.oldest] {
            pointer.store(null_mut(), Ordering::Relaxed);
        }
        self.releases.store(0, Ordering::Relaxed);
        self.turn.reset();
    }
}

/// One release in `EVERY` goes to the thread that has been passive for longest, by default as often as in the paper.
pub struct Malthusian<const EVERY: u32 = 1_000> {
    tail: AtomicPtr<QueueNode>,
}

impl<const EVERY: u32> Malthusian<EVERY> {
    /// Returns a released lock.
    pub fn new() -> Self {
        Self { tail: AtomicPtr::new(null_mut()) }
    }

    /// Acquires the lock with this queue node.
    ///
    /// # Safety
    /// The queue node is unused, and its memory is valid until the release with it has returned.
    #[inline(always)]
    pub unsafe fn acquire_with(&self, own: *mut QueueNode) {
        // SAFETY: the caller guarantees that the node is valid.
        let node = unsafe { &*own };
        node.reset();
        let before = self.tail.swap(own, Ordering::AcqRel);
        if !before.is_null() {
            // SAFETY: the thread of `before` does not finish its release before it has seen this link.
            unsafe { (*before).next.store(own, Ordering::Release) };
            node.turn.wait();
        }
    }

    /// Acquires the lock with this queue node if it is released.
    ///
    /// # Safety
    /// The requirements are those of [`acquire_with`](Self::acquire_with).
    #[inline(always)]
    pub unsafe fn try_acquire_with(&self, own: *mut QueueNode) -> bool {
        // SAFETY: the caller guarantees that the node is valid.
        unsafe { (*own).reset() };
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
    pub unsafe fn release_with(&self, own: *mut QueueNode) {
        // SAFETY: `own` is valid by the caller's guarantee. All other nodes of the queue and of the list belong to
        // threads that wait, and only the holder moves them.
        unsafe {
            let releases = (*own).releases.load(Ordering::Relaxed).wrapping_add(1);
            (*own).releases.store(releases, Ordering::Relaxed);
            if releases.is_multiple_of(EVERY) {
                let oldest = take_oldest(own);
                if !oldest.is_null() {
                    self.insert(own, oldest);
                    hand_off(own, oldest);
                    return;
                }
            }
            let mut next = (*own).next.load(Ordering::Acquire);
            if next.is_null() {
                let newest = take_newest(own);
                if newest.is_null() {
                    if self.replace_tail(own, null_mut()) {
                        return;
                    }
                } else {
                    (*newest).next.store(null_mut(), Ordering::Relaxed);
                    if self.replace_tail(own, newest) {
                        hand_off(own, newest);
                        return;
                    }
                    make_passive(own, newest);
                }
                next = link(own);
            }
            let second = (*next).next.load(Ordering::Acquire);
            if second.is_null() {
                hand_off(own, next);
            } else {
                make_passive(own, next);
                hand_off(own, second);
            }
        }
    }

    fn replace_tail(&self, own: *mut QueueNode, by: *mut QueueNode) -> bool {
        self.tail.compare_exchange(own, by, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Makes a node the first waiter behind the holder's.
    ///
    /// # Safety
    /// The calling thread holds the lock by `own`; the other node is in neither queue.
    unsafe fn insert(&self, own: *mut QueueNode, node: *mut QueueNode) {
        // SAFETY: both nodes are valid: their threads hold the lock and wait for it.
        unsafe {
            (*node).next.store(null_mut(), Ordering::Relaxed);
            if (*own).next.load(Ordering::Acquire).is_null() && self.replace_tail(own, node) {
                return;
            }
            (*node).next.store(link(own), Ordering::Release);
        }
    }
}

/// # Safety
/// The holder's node is `own`; the other node's thread waits, and that node is in neither queue.
unsafe fn make_passive(own: *mut QueueNode, node: *mut QueueNode) {
    // SAFETY: the threads of the list wait and the calling thread is the holder, so all nodes are valid.
    unsafe {
        let newest = (*own).newest.load(Ordering::Relaxed);
        (*node).older.store(newest, Ordering::Relaxed);
        (*node).newer.store(null_mut(), Ordering::Relaxed);
        let end = if newest.is_null() { &(*own).oldest } else { &(*newest).newer };
        end.store(node, Ordering::Relaxed);
        (*own).newest.store(node, Ordering::Relaxed);
    }
}

/// # Safety
/// The holder's node is `own`.
unsafe fn take_newest(own: *mut QueueNode) -> *mut QueueNode {
    // SAFETY: the threads of the list wait and the calling thread is the holder, so all nodes are valid.
    unsafe {
        let node = (*own).newest.load(Ordering::Relaxed);
        if !node.is_null() {
            let older = (*node).older.load(Ordering::Relaxed);
            (*own).newest.store(older, Ordering::Relaxed);
            let end = if older.is_null() { &(*own).oldest } else { &(*older).newer };
            end.store(null_mut(), Ordering::Relaxed);
        }
        node
    }
}

/// # Safety
/// The holder's node is `own`.
unsafe fn take_oldest(own: *mut QueueNode) -> *mut QueueNode {
    // SAFETY: the threads of the list wait and the calling thread is the holder, so all nodes are valid.
    unsafe {
        let node = (*own).oldest.load(Ordering::Relaxed);
        if !node.is_null() {
            let newer = (*node).newer.load(Ordering::Relaxed);
            (*own).oldest.store(newer, Ordering::Relaxed);
            let end = if newer.is_null() { &(*own).newest } else { &(*newer).older };
            end.store(null_mut(), Ordering::Relaxed);
        }
        node
    }
}

/// Waits until the thread behind has linked its node.
///
/// # Safety
/// The node is valid, and a thread has joined behind it.
unsafe fn link(own: *mut QueueNode) -> *mut QueueNode {
    let mut next = null_mut();
    spin_until(|| {
        // SAFETY: the caller guarantees that the node is valid.
        next = unsafe { (*own).next.load(Ordering::Acquire) };
        !next.is_null()
    });
    next
}

/// Hands the lock, the ends of the passive list and the count to the thread of another node.
///
/// # Safety
/// The holder's node is `own`; the other node's thread waits.
unsafe fn hand_off(own: *mut QueueNode, to: *mut QueueNode) {
    // SAFETY: `own` is valid by the caller's guarantee, and `to` until its thread has seen the signal.
    unsafe {
        (*to).newest.store((*own).newest.load(Ordering::Relaxed), Ordering::Relaxed);
        (*to).oldest.store((*own).oldest.load(Ordering::Relaxed), Ordering::Relaxed);
        (*to).releases.store((*own).releases.load(Ordering::Relaxed), Ordering::Relaxed);
        Parking::signal(&raw const (*to).turn);
    }
}
