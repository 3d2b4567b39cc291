//! The items that the locks' files require to be `lock_api` locks, without `lock_api`: a lock is only its functions
//! here.

/// The functions of a lock that fits into a mutex.
pub trait RawMutex {
    /// The marker of `lock_api` for a guard: nothing.
    type Guard;

    /// Acquires it.
    fn lock(&self);
    /// Acquires it if it is free, with rare failures.
    fn try_lock(&self) -> bool;
    /// Releases it.
    ///
    /// # Safety
    /// It is held, and the caller gives up the right to it.
    unsafe fn unlock(&self);
    /// Returns whether it is held.
    fn is_locked(&self) -> bool;
}

/// The marker of a lock that any thread may release, as all locks here.
pub struct GuardSend;

/// Defines a `const fn`.
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty)?) -> Self $body:block) => {
        $(#[$meta])*
        $vis const fn $name($($arg: $ty)?) -> Self $body
    };
}

macro_rules! raw_mutex {
    ([$($generics:tt)*] $lock:ty, $guard:ty) => {
        impl<$($generics)*> $crate::RawMutex for $lock {
            type Guard = $guard;

            #[inline(always)]
            fn lock(&self) {
                <$lock>::lock(self);
            }

            #[inline(always)]
            fn try_lock(&self) -> bool {
                <$lock>::try_lock(self)
            }

            #[inline(always)]
            unsafe fn unlock(&self) {
                // SAFETY: the caller holds the lock.
                unsafe { <$lock>::unlock(self) }
            }

            #[inline(always)]
            fn is_locked(&self) -> bool {
                <$lock>::is_locked(self)
            }
        }
    };
}

macro_rules! raw_mutex_timed {
    ([$($generics:tt)*] $lock:ty, $guard:ty, $attempt:expr) => {
        impl<$($generics)*> $lock {
            /// Acquires the lock if it becomes free before `deadline`; returns whether it did.
            pub(crate) fn lock_until(&self, deadline: crate::futex::Deadline) -> bool {
                self.lock_by(Some(deadline))
            }
        }
    };
}

/// Implements nothing: no mutex is handed off here.
macro_rules! raw_mutex_fair {
    ([$($generics:tt)*] $lock:ty $(, $unlock:ident)?) => {};
}

/// Implements nothing: a reader-writer lock is only its functions.
macro_rules! raw_rwlock {
    ([$($generics:tt)*] $lock:ty) => {};
}

macro_rules! raw_rwlock_timed {
    ([$($generics:tt)*] $lock:ty, $shared:expr, $exclusive:expr) => {
        impl<$($generics)*> $lock {
            /// Acquires the lock for reading if possible before `deadline`; returns whether it did.
            pub(crate) fn lock_shared_until(&self, deadline: Option<crate::futex::Deadline>) -> bool {
                $shared(self) || self.lock_shared_by(deadline)
            }

            /// Acquires the lock for writing if possible before `deadline`; returns whether it did.
            pub(crate) fn lock_exclusive_until(&self, deadline: Option<crate::futex::Deadline>) -> bool {
                $exclusive(self) || self.lock_exclusive_by(deadline)
            }
        }
    };
}

macro_rules! raw_rwlock_recursive {
    ([$($generics:tt)*] $lock:ty, $attempt:expr) => {
        impl<$($generics)*> $lock {
            /// Acquires the lock for reading, past waiting writers, if possible before `deadline`; returns whether it
            /// did.
            pub(crate) fn lock_shared_recursive_until(&self, deadline: Option<crate::futex::Deadline>) -> bool {
                $attempt(self) || self.lock_shared_recursive_by(deadline)
            }
        }
    };
}

/// Implements nothing: the C library's locks cannot be upgraded.
macro_rules! raw_rwlock_upgrade {
    ([$($generics:tt)*] $lock:ty, $upgradable:expr, $upgrade:expr) => {};
}
