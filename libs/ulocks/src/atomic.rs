//! The atomics that every lock uses: the hardware's, or, under `cfg(loom)`, those of the model checker.
//!
//! The module contains only the operations that the locks use, so that a lock cannot bypass the model by accident.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Separates two `SeqCst` accesses that must not be reordered.
///
/// The language's memory model has one total order of `SeqCst` accesses, so this function does nothing. Loom treats
/// such accesses as `AcqRel` and would report lost wake-ups that cannot happen, so the model gets a fence that loom
/// understands.
#[inline(always)]
pub(crate) fn between_seqcst() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Pauses for a moment within a spin loop.
#[inline(always)]
pub(crate) fn pause() {
    #[cfg(not(loom))]
    core::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// Yields the CPU to another thread.
pub(crate) fn give_way() {
    #[cfg(not(loom))]
    {
        // SAFETY: `sched_yield` takes no argument and accesses no memory of this program.
        unsafe { libc::sched_yield() };
    }
    #[cfg(loom)]
    loom::thread::yield_now();
}
