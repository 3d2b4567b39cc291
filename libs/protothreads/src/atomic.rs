//! The atomics of the wake path: the hardware's, or, under `cfg(loom)`, those of the model checker.
//!
//! The module contains only the operations that this path uses, so that it cannot bypass the model by accident.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

#[cfg(all(feature = "std", not(loom)))]
pub(crate) use std::thread;

#[cfg(loom)]
pub(crate) use loom::thread;

/// Pauses for a moment while another OS thread makes progress.
pub(crate) fn pause() {
    #[cfg(any(feature = "std", loom))]
    thread::yield_now();
    #[cfg(not(any(feature = "std", loom)))]
    core::hint::spin_loop();
}
