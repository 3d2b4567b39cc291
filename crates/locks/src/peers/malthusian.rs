//! Malthusian: an MCS queue lock that keeps surplus waiters out of circulation.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `tail` | the last node of the queue; null: the lock is released | arriving threads, by swap; the holder, by compare-and-swap |
//! | `newest`, `oldest` | the ends of the passive list | the holder |
//! | `releases` | a count of releases | the holder |
//!
//! | in a node | meaning | written by |
//! |---|---|---|
//! | `next` | the node behind it, null if none is known | the thread behind it; the holder |
//! | `newer`, `older` | its neighbours in the passive list | the holder |
//! | `turn` | a [`Parking`]: the lock was handed to its thread | its thread; the releasing thread |
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
//! makes the releases for long-term fairness Bernoulli trials of 1 in 1,000; here the lock counts. That the first
//! waiter is the one that is removed, and not the last, is taken from memory of the paper.

use super::algorithm::Algorithm;
use super::atomic::{AtomicPtr, AtomicU32, Ordering, spin_until};
use super::nodes::{Node, Nodes};
use super::parking::Parking;
use std::ptr::null_mut;

#[derive(Default)]
pub struct QueueNode {
    next: AtomicPtr<QueueNode>,
    newer: AtomicPtr<QueueNode>,
    older: AtomicPtr<QueueNode>,
    turn: Parking,
}

pub struct Malthusian<const EVERY: u32> {
    tail: AtomicPtr<QueueNode>,
    newest: AtomicPtr<QueueNode>,
    oldest: AtomicPtr<QueueNode>,
    releases: AtomicU32,
}

impl<const EVERY: u32> Malthusian<EVERY> {
    /// Acquires the lock with this queue node.
    ///
    /// # Safety
    /// The queue node is unused, and its memory is valid until the release with it has returned.
    #[inline(always)]
    pub unsafe fn acquire_with(&self, own: *mut QueueNode) {
        // SAFETY: the caller guarantees that the node is valid.
        let node = unsafe { &*own };
        node.next.store(null_mut(), Ordering::Relaxed);
        node.turn.reset();
        let before = self.tail.swap(own, Ordering::AcqRel);
        if !before.is_null() {
            // SAFETY: the thread of `before` does not finish its release before it has seen this link.
            unsafe { (*before).next.store(own, Ordering::Release) };
            node.turn.wait();
        }
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
            let releases = self.releases.load(Ordering::Relaxed).wrapping_add(1);
            self.releases.store(releases, Ordering::Relaxed);
            if releases.is_multiple_of(EVERY) {
                let oldest = self.take_oldest();
                if !oldest.is_null() {
                    self.insert(own, oldest);
                    hand_over(oldest);
                    return;
                }
            }
            let mut next = (*own).next.load(Ordering::Acquire);
            if next.is_null() {
                let newest = self.take_newest();
                if newest.is_null() {
                    if self.replace_tail(own, null_mut()) {
                        return;
                    }
                } else {
                    (*newest).next.store(null_mut(), Ordering::Relaxed);
                    if self.replace_tail(own, newest) {
                        hand_over(newest);
                        return;
                    }
                    self.make_passive(newest);
                }
                next = link(own);
            }
            let second = (*next).next.load(Ordering::Acquire);
            if second.is_null() {
                hand_over(next);
            } else {
                self.make_passive(next);
                hand_over(second);
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

    /// # Safety
    /// The calling thread holds the lock; the node's thread waits, and the node is in neither queue.
    unsafe fn make_passive(&self, node: *mut QueueNode) {
        let newest = self.newest.load(Ordering::Relaxed);
        // SAFETY: the threads of the list wait, so their nodes are valid.
        unsafe {
            (*node).older.store(newest, Ordering::Relaxed);
            (*node).newer.store(null_mut(), Ordering::Relaxed);
            if newest.is_null() {
                self.oldest.store(node, Ordering::Relaxed);
            } else {
                (*newest).newer.store(node, Ordering::Relaxed);
            }
        }
        self.newest.store(node, Ordering::Relaxed);
    }

    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn take_newest(&self) -> *mut QueueNode {
        let node = self.newest.load(Ordering::Relaxed);
        if !node.is_null() {
            // SAFETY: the threads of the list wait, so their nodes are valid.
            unsafe {
                let older = (*node).older.load(Ordering::Relaxed);
                self.newest.store(older, Ordering::Relaxed);
                let end = if older.is_null() { &self.oldest } else { &(*older).newer };
                end.store(null_mut(), Ordering::Relaxed);
            }
        }
        node
    }

    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn take_oldest(&self) -> *mut QueueNode {
        let node = self.oldest.load(Ordering::Relaxed);
        if !node.is_null() {
            // SAFETY: the threads of the list wait, so their nodes are valid.
            unsafe {
                let newer = (*node).newer.load(Ordering::Relaxed);
                self.oldest.store(newer, Ordering::Relaxed);
                let end = if newer.is_null() { &self.newest } else { &(*newer).older };
                end.store(null_mut(), Ordering::Relaxed);
            }
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

/// # Safety
/// The node's thread waits.
unsafe fn hand_over(node: *mut QueueNode) {
    // SAFETY: the node is valid until its thread has seen the signal.
    unsafe { Parking::signal(&raw const (*node).turn) };
}

thread_local! {
    static OWN: Nodes<QueueNode> = Nodes::default();
}

impl<const EVERY: u32> Algorithm for Malthusian<EVERY> {
    type Held = Node<QueueNode>;

    fn new() -> Self {
        Self {
            tail: AtomicPtr::new(null_mut()),
            newest: AtomicPtr::new(null_mut()),
            oldest: AtomicPtr::new(null_mut()),
            releases: AtomicU32::new(0),
        }
    }

    #[inline(always)]
    fn acquire(&self) -> Node<QueueNode> {
        let own = OWN.with(Nodes::take);
        // SAFETY: the node is unused, and the thread does not end before it is given back.
        unsafe { self.acquire_with(own.node.cast_mut()) };
        own
    }

    #[inline(always)]
    unsafe fn release(&self, held: Node<QueueNode>) {
        // SAFETY: the caller makes the same guarantee.
        unsafe { self.release_with(held.node.cast_mut()) };
        OWN.with(|own| own.give(held));
    }
}
