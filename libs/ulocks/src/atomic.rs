//! The atomics that every lock uses: the hardware's, or, under `cfg(loom)`, those of the model checker.
//!
//! Only what the locks use is here, so that a lock cannot reach past the model by accident.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Stands between two `SeqCst` accesses that must not be reordered.
///
/// In the language's memory model there is one total order of `SeqCst` accesses and this is nothing. Loom treats such
/// accesses as `AcqRel` and would report lost wake-ups that cannot happen, so the model gets the fence it understands.
#[inline(always)]
pub(crate) fn between_seqcst() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Waits a moment within a loop that spins.
#[inline(always)]
pub(crate) fn pause() {
    #[cfg(not(loom))]
    core::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// Lets another thread have the CPU.
pub(crate) fn give_way() {
    #[cfg(not(loom))]
    {
        // SAFETY: the call takes nothing and touches no memory.
        unsafe { libc::sched_yield() };
    }
    #[cfg(loom)]
    loom::thread::yield_now();
}
