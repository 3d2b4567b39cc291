//! What may lie in memory that processes share.

use super::guarded::Guarded;
use crate::{
    Adaptive, AdaptiveRw, CalockSpin, Condvar, Count, FutexSem, Once, Patience, Pi, Robust, RwLock, RwLockFair, Shared,
    Ticket, UsemaSpin,
};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize};

/// A value that may lie in memory shared by processes. It is [`Sync`], since others have it at the same time.
///
/// # Safety
/// - All-zero bytes are a valid value, with the meaning that a fresh file should have.
/// - It holds no pointer, reference, handle or other thing that means something in one process only.
/// - Dropping it is not needed: it never happens.
pub unsafe trait Plain: Sized + Sync {
    /// What a file's header says that the value is: programs that give different names do not open each other's files.
    ///
    /// Unless you say otherwise it is the type's name as this compiler writes it, without modules. Say otherwise where
    /// programs of different compilers, or a type that was renamed, use the same file.
    fn name() -> String {
        without_modules(std::any::type_name::<Self>())
    }
}

fn without_modules(name: &str) -> String {
    let parts = name.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    parts.map(|part| part.rsplit_once("::").map_or(part, |(_, last)| last)).collect()
}

macro_rules! plain {
    ($([$($generics:tt)*] $type:ty = $name:expr),* $(,)?) => {
        $(
            // SAFETY: plain words, zero is a value of it (of a lock: the free one), and it has no drop.
            unsafe impl<$($generics)*> Plain for $type {
                fn name() -> String {
                    $name.to_string()
                }
            }
        )*
    };
}

macro_rules! plain_numbers {
    ($($type:ident)*) => {
        plain! { $([] $type = stringify!($type)),* }
    };
}
plain_numbers! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 }
plain_numbers! { AtomicBool AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize AtomicI32 AtomicI64 }
// Counting and patience are not in the names: the one is in the size, the other not in the memory.
plain! {
    [C: Count] Adaptive<Shared, C> = "Adaptive",
    [C: Count, P: Patience] CalockSpin<Shared, C, P> = "Calock",
    [C: Count, P: Patience] UsemaSpin<Shared, C, P> = "Usema",
    [C: Count] Ticket<C> = "Ticket",
    [C: Count] Pi<Shared, C> = "Pi",
    [C: Count] Robust<Shared, C> = "Robust",
    [C: Count] AdaptiveRw<Shared, C> = "AdaptiveRw",
    [C: Count] RwLock<Shared, C> = "RwLock",
    [C: Count] RwLockFair<Shared, C> = "RwLockFair",
    [] FutexSem<Shared> = "FutexSem",
    [] Condvar<Shared> = "Condvar",
    [] Once<Shared> = "Once",
    [T: Plain, const N: usize] [T; N] = format!("[{}; {N}]", T::name()),
    [R: lock_api::RawMutex + Plain, T: Plain + Send] Guarded<R, T> = format!("Guarded<{}, {}>", R::name(), T::name()),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_without_modules() {
        assert_eq!(<Guarded<Robust<Shared>, [u64; 2]>>::name(), "Guarded<Robust, [u64; 2]>");
        assert_eq!(without_modules("one::Pair<two::three::Lock, [u64; 2]>"), "Pair<Lock, [u64; 2]>");
    }
}
