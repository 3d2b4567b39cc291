//! The context of a lock that a thread holds: a hash of the locks that it held before, of the call sites that acquired
//! them, and of its epoch, which changes with each create and join.

use crate::layout::{HELD, Thread};
use core::sync::atomic::Ordering::Relaxed;

/// Returns the context of a lock that is acquired by this pair after one with the context `before`.
#[inline(always)]
pub fn context(before: u32, pair: u32) -> u32 {
    (before.rotate_left(5) ^ pair).wrapping_mul(0x9e37_79b1)
}

/// Returns the context before the lock that a thread holds at this depth.
#[inline(always)]
pub fn context_before(thread: &Thread, depth: usize) -> u32 {
    match depth.checked_sub(1) {
        None => thread.epoch.load(Relaxed),
        Some(last) => thread.held[last].context.load(Relaxed),
    }
}

/// Computes the contexts of the locks at this depth and above again.
pub fn renew_contexts(thread: &Thread, from: usize) {
    for depth in from..(thread.depth() as usize).min(HELD) {
        let held = &thread.held[depth];
        held.context.store(context(context_before(thread, depth), held.pair.load(Relaxed)), Relaxed);
    }
}

/// Begins a new epoch of the calling thread: its later acquisitions come after a create or a join.
pub fn begin_epoch(thread: &Thread) {
    thread.busy(|| {
        thread.epoch.store(context(thread.epoch.load(Relaxed), 1), Relaxed);
        // The lock that it acquired last has to be noted again.
        thread.last.lock.store(0, Relaxed);
        renew_contexts(thread, 0);
    });
}
