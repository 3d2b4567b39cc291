//! The queue locks whose acquisitions each need a node, with nodes of the calling thread.
//!
//! A thread has a few nodes in its local storage, so that an acquisition needs no allocation and no atomic operation to
//! get one. A node outlives its acquisition because the guard stays on its thread. A thread that ends with a node in
//! use aborts the process, since other threads would then write to freed memory.

use super::algorithm::Algorithm;
use super::cna::{self, Cna, current_numa};
use super::malthusian::{self, Malthusian};
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::process::abort;

/// The number of locks of one algorithm that a thread can hold at the same time.
const NODES: usize = 4;

/// The nodes of one thread for one algorithm, each on its own cache lines: its thread spins on it.
#[derive(Default)]
pub struct Nodes<N> {
    nodes: [CachePadded<N>; NODES],
    /// A word with one bit for each node that is in use.
    used: Cell<u32>,
}

/// A node in use.
pub struct Node<N> {
    pub node: *const N,
    bit: u32,
}

impl<N> Clone for Node<N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Node<N> {}

impl<N> Nodes<N> {
    /// Returns an unused node and marks it as used.
    ///
    /// # Panics
    /// If the thread uses all its nodes.
    #[inline(always)]
    pub fn take(&self) -> Node<N> {
        let place = self.used.get().trailing_ones();
        let node = self.nodes.get(place as usize).expect("a thread holds too many locks of one algorithm at once");
        self.used.set(self.used.get() | 1 << place);
        Node { node: &raw const **node, bit: 1 << place }
    }

    #[inline(always)]
    pub fn give(&self, node: Node<N>) {
        self.used.set(self.used.get() & !node.bit);
    }
}

impl<N> Drop for Nodes<N> {
    fn drop(&mut self) {
        if self.used.get() != 0 {
            abort();
        }
    }
}

thread_local! {
    static OF_CNA: Nodes<cna::QueueNode> = Nodes::default();
    static OF_MALTHUSIAN: Nodes<malthusian::QueueNode> = Nodes::default();
}

impl<const EVERY: u32> Algorithm for Cna<EVERY> {
    type Held = Node<cna::QueueNode>;

    fn new() -> Self {
        Self::new()
    }

    #[inline(always)]
    fn acquire(&self) -> Self::Held {
        let own = OF_CNA.with(Nodes::take);
        // SAFETY: the node is unused, and the thread does not end before it is given back.
        unsafe { self.acquire_with(own.node.cast_mut(), current_numa) };
        own
    }

    #[inline(always)]
    unsafe fn release(&self, held: Self::Held) {
        // SAFETY: the caller makes the same guarantee.
        unsafe { self.release_with(held.node.cast_mut(), current_numa) };
        OF_CNA.with(|own| own.give(held));
    }
}

impl<const EVERY: u32> Algorithm for Malthusian<EVERY> {
    type Held = Node<malthusian::QueueNode>;

    fn new() -> Self {
        Self::new()
    }

    #[inline(always)]
    fn acquire(&self) -> Self::Held {
        let own = OF_MALTHUSIAN.with(Nodes::take);
        // SAFETY: the node is unused, and the thread does not end before it is given back.
        unsafe { self.acquire_with(own.node.cast_mut()) };
        own
    }

    #[inline(always)]
    unsafe fn release(&self, held: Self::Held) {
        // SAFETY: the caller makes the same guarantee.
        unsafe { self.release_with(held.node.cast_mut()) };
        OF_MALTHUSIAN.with(|own| own.give(held));
    }
}
