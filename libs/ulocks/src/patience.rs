//! Spin limits: how long a thread spins before it blocks (the *patience* of 2002), as a type.
//!
//! A type takes no space in the lock. A program that chooses the limit at run time reads a static: the documentation
//! of [`Patience`] has an example.

#[cfg(not(loom))]
use crate::futex::Deadline;
use core::{fmt, time::Duration};

/// Spin limit: how long a thread spins before it blocks.
///
/// # Examples
///
/// A limit that is chosen at run time:
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// use std::time::Duration;
/// use ulocks::{CalockSpin, NoCount, Patience, Private};
///
/// static MICROSECONDS: AtomicU32 = AtomicU32::new(3);
///
/// #[derive(Debug)]
/// struct FromFlags;
/// impl Patience for FromFlags {
///     fn patience() -> Duration {
///         Duration::from_micros(MICROSECONDS.load(Relaxed).into())
///     }
/// }
///
/// let lock = CalockSpin::<Private, NoCount, FromFlags>::new();
/// MICROSECONDS.store(10, Relaxed);
/// assert!(lock.try_lock());
/// ```
pub trait Patience: fmt::Debug + Send + Sync + 'static {
    /// Returns the limit; called once for each contended acquisition.
    fn patience() -> Duration;
}

/// A spin limit of `N` microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Micros<const N: u32>;

impl<const N: u32> Patience for Micros<N> {
    #[inline]
    fn patience() -> Duration {
        Duration::from_micros(N as u64)
    }
}

/// Calls `done` repeatedly until it returns true or `P` expires; returns whether it returned true.
///
/// The clock is read once in eight calls: reading it costs about as much as a pause.
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

/// Makes one attempt: in a model, the length of a spin proves nothing.
#[cfg(loom)]
pub(crate) fn spin<P: Patience>(mut done: impl FnMut() -> bool) -> bool {
    !P::patience().is_zero() && done()
}
