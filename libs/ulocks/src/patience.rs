//! How long a thread spins before it sleeps: 2002's *patience*, as a type.
//!
//! A type takes no room in the lock. A program that wants to choose at run time reads a static:
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//! use std::time::Duration;
//! use ulocks::{CalockSpin, NoCount, Patience, Private};
//!
//! static MICROSECONDS: AtomicU32 = AtomicU32::new(3);
//!
//! #[derive(Debug)]
//! struct FromFlags;
//! impl Patience for FromFlags {
//!     fn patience() -> Duration {
//!         Duration::from_micros(MICROSECONDS.load(Relaxed).into())
//!     }
//! }
//!
//! let lock = CalockSpin::<Private, NoCount, FromFlags>::new();
//! MICROSECONDS.store(10, Relaxed);
//! lock.lock();
//! # // SAFETY: locked one line above.
//! unsafe { lock.unlock() };
//! ```

#[cfg(not(loom))]
use crate::futex::Deadline;
use core::{fmt, time::Duration};

/// How long to spin before sleeping.
pub trait Patience: fmt::Debug + Send + Sync + 'static {
    /// Asked once for each contended acquisition.
    fn patience() -> Duration;
}

/// A patience of `N` microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Micros<const N: u32>;

impl<const N: u32> Patience for Micros<N> {
    #[inline]
    fn patience() -> Duration {
        Duration::from_micros(N as u64)
    }
}

/// Asks `done` again and again, until it says so or `P` runs out; says whether it did.
///
/// The clock is read every eight tries: reading it costs about as much as a pause.
#[cfg(not(loom))]
pub(crate) fn spin<P: Patience>(mut done: impl FnMut() -> bool) -> bool {
    let patience = P::patience();
    if patience.is_zero() {
        return false;
    }
    let end = Deadline::after(patience);
    loop {
        for _ in 0..8 {
            if done() {
                return true;
            }
            crate::atomic::pause();
        }
        if end.is_some_and(|end| end.passed()) {
            return false;
        }
    }
}

/// One try: in a model the length of a spin proves nothing.
#[cfg(loom)]
pub(crate) fn spin<P: Patience>(mut done: impl FnMut() -> bool) -> bool {
    !P::patience().is_zero() && done()
}
