//! Threads that wait for one thing, first come, first served, in one word.
//!
//! The word is the last waiter; the words of the threads link them in a circle, last to first. A list of any length
//! therefore takes 4 bytes and no heap.
use crate::node::Node;

/// Appends `thread` to the list that ends with `last`; returns the new last.
#[inline(always)]
pub(crate) fn push<N: Node>(nodes: &[N], last: Option<u32>, thread: u32) -> u32 {
    let first = match last {
        None => thread,
        Some(last) => {
            let first = nodes[last as usize].word().next();
            nodes[last as usize].word().set_next(thread);
            first
        }
    };
    nodes[thread as usize].wait_before(first);
    thread
}

/// Removes the first thread of the list that ends with `last`; returns it and the new last.
#[inline(always)]
pub(crate) fn pop<N: Node>(nodes: &[N], last: u32) -> (u32, Option<u32>) {
    let first = nodes[last as usize].word().next();
    if first == last {
        return (first, None);
    }
    nodes[last as usize].word().set_next(nodes[first as usize].word().next());
    (first, Some(last))
}

/// Removes `thread` from the list that ends with `last`, at any position; walks the list and returns the new last.
pub(crate) fn remove<N: Node>(nodes: &[N], last: u32, thread: u32) -> Option<u32> {
    let mut before = last;
    while nodes[before as usize].word().next() != thread {
        before = nodes[before as usize].word().next();
    }
    if before == thread {
        return None;
    }
    nodes[before as usize].word().set_next(nodes[thread as usize].word().next());
    Some(if thread == last { before } else { last })
}
