//! The queue locks whose acquisitions each need a node, with nodes of the calling thread.

use super::algorithm::Algorithm;
use super::cna::{self, Cna, current_numa};
use super::malthusian::{self, Malthusian};
use super::nodes::{Node, Nodes};

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
