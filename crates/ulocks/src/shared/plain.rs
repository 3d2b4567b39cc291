//! What may lie in memory that processes share.

use super::guarded::Guarded;
use crate::{
    Adaptive, CalockSpin, Condvar, Count, FutexSem, Once, Patience, Pi, Robust, RwLock, RwLockFair, Shared, Ticket,
    UsemaSpin,
};
use std::sync::atomic;

/// A value that may lie in memory shared by processes.
///
/// # Safety
/// - All-zero bytes are a valid value, with the meaning that a fresh file should have.
/// - It holds no pointer, reference, handle or other thing that means something in one process only.
/// - Dropping it is not needed: it never happens.
pub unsafe trait Plain: Sized {}

macro_rules! plain {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => {
        $(
            // SAFETY: plain words, zero is a value of it (of a lock: the free one), and it has no drop.
            unsafe impl<$($generics)*> Plain for $type {}
        )*
    };
}
plain! {
    [] u8, [] u16, [] u32, [] u64, [] usize, [] i8, [] i16, [] i32, [] i64, [] isize, [] f32, [] f64,
    [] atomic::AtomicBool, [] atomic::AtomicU8, [] atomic::AtomicU16, [] atomic::AtomicU32, [] atomic::AtomicU64,
    [] atomic::AtomicUsize, [] atomic::AtomicI32, [] atomic::AtomicI64,
    [C: Count] Adaptive<Shared, C>, [C: Count, P: Patience] CalockSpin<Shared, C, P>,
    [C: Count, P: Patience] UsemaSpin<Shared, C, P>, [C: Count] Ticket<C>, [C: Count] Pi<Shared, C>,
    [C: Count] Robust<Shared, C>, [C: Count] RwLock<Shared, C>, [C: Count] RwLockFair<Shared, C>,
    [] FutexSem<Shared>, [] Condvar<Shared>, [] Once<Shared>,
    [T: Plain, const N: usize] [T; N],
    [R: lock_api::RawMutex + Plain, T: Plain] Guarded<R, T>,
}
