//! The trait of values that may be in memory that processes share.

use super::guarded::Guarded;
use crate::{
    Adaptive, AdaptiveRw, CalockSpin, Condvar, Count, FutexSem, Once, Patience, Pi, Robust, RwLock, RwLockFair, Shared,
    Ticket, UsemaSpin,
};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize};

/// A value that may be in memory shared by processes.
///
/// It is [`Sync`], since other processes have it at the same time.
///
/// # Safety
///
/// - All-zero bytes are a valid value, with the meaning that a new file should have.
/// - The value contains no pointer, reference, handle or other item that is valid in one process only.
/// - The value need not be dropped, because it never is.
pub unsafe trait Plain: Sized + Sync {
    /// Returns the name of the type in the header of a file: programs that use different names do not open each
    /// other's files.
    ///
    /// The default is the type's name as this compiler writes it, without modules. Override it if programs of
    /// different compilers, or before and after renaming a type, use the same file.
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
            // SAFETY: the type consists of plain memory words, zero is a valid value (for a lock: unlocked), and it
            // has no drop.
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
// The statistics and the spin limit are not in the names: the former are in the size, the latter is not in the
// memory.
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
    fn type_names_contain_no_modules() {
        assert_eq!(<Guarded<Robust<Shared>, [u64; 2]>>::name(), "Guarded<Robust, [u64; 2]>");
        assert_eq!(without_modules("one::Pair<two::three::Lock, [u64; 2]>"), "Pair<Lock, [u64; 2]>");
    }
}
