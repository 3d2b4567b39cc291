//! What lets a lock be a `static`, and what makes it a `lock_api` lock, written once.

/// A `const fn`, except under loom, whose atomics cannot be made in a constant.
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty)?) -> Self $body:block) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $name($($arg: $ty)?) -> Self $body
        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $name($($arg: $ty)?) -> Self $body
    };
}

/// `lock_api::RawMutex` for a lock whose own `lock`, `try_lock`, `unlock` and `is_locked` say the same thing.
macro_rules! raw_mutex {
    ([$($generics:tt)*] $lock:ty, $guard:ty) => {
        #[cfg(not(loom))]
        impl<$($generics)*> Default for $lock {
            fn default() -> Self {
                Self::new()
            }
        }

        // SAFETY: exclusion is the lock's own, argued at the head of its file. The guard has no state; it is
        // `GuardNoSend` where the lock remembers which thread took it.
        #[cfg(not(loom))]
        unsafe impl<$($generics)*> lock_api::RawMutex for $lock {
            #[allow(clippy::declare_interior_mutable_const)] // a template for a new lock, never shared
            const INIT: Self = <$lock>::new();
            type Guard = $guard;

            #[inline]
            fn lock(&self) -> Self::Guard {
                <$lock>::lock(self);
                <$guard>::new()
            }

            #[inline]
            fn try_lock(&self) -> Option<Self::Guard> {
                <$lock>::try_lock(self).then(<$guard>::new)
            }

            #[inline]
            unsafe fn unlock(&self, _: Self::Guard) {
                // SAFETY: the caller holds the lock: it has the guard.
                unsafe { <$lock>::unlock(self) }
            }

            #[inline]
            fn is_locked(&self) -> bool {
                <$lock>::is_locked(self)
            }
        }
    };
}

/// `lock_api::RawMutexTimed`, from a private `lock_by(deadline)`.
macro_rules! raw_mutex_timed {
    ([$($generics:tt)*] $lock:ty, $guard:ty) => {
        impl<$($generics)*> $lock {
            /// Takes the lock if it becomes free within `timeout`; says whether it did.
            pub fn try_lock_for(&self, timeout: core::time::Duration) -> bool {
                self.try_lock() || self.lock_by(crate::futex::Deadline::after(timeout))
            }

            /// Takes the lock if it becomes free before `deadline`; says whether it did.
            #[cfg(feature = "std")]
            pub fn try_lock_until(&self, deadline: std::time::Instant) -> bool {
                self.try_lock() || self.lock_by(crate::futex::Deadline::at(deadline))
            }
        }

        // SAFETY: `true` from the methods above means that the lock was taken.
        #[cfg(all(feature = "std", not(loom)))]
        unsafe impl<$($generics)*> lock_api::RawMutexTimed for $lock {
            type Duration = core::time::Duration;
            type Instant = std::time::Instant;

            fn try_lock_for(&self, timeout: core::time::Duration) -> Option<Self::Guard> {
                <$lock>::try_lock_for(self, timeout).then(<$guard>::new)
            }

            fn try_lock_until(&self, deadline: std::time::Instant) -> Option<Self::Guard> {
                <$lock>::try_lock_until(self, deadline).then(<$guard>::new)
            }
        }
    };
}

/// `lock_api::RawMutexFair`, from a public `unlock_fair`.
macro_rules! raw_mutex_fair {
    ([$($generics:tt)*] $lock:ty) => {
        // SAFETY: it frees the lock, as `unlock` does.
        #[cfg(not(loom))]
        unsafe impl<$($generics)*> lock_api::RawMutexFair for $lock {
            unsafe fn unlock_fair(&self, _: Self::Guard) {
                // SAFETY: the caller holds the lock: it has the guard.
                unsafe { <$lock>::unlock_fair(self) }
            }
        }
    };
}

/// `lock_api::RawRwLock` for a lock whose own methods say the same thing.
macro_rules! raw_rwlock {
    ([$($generics:tt)*] $lock:ty) => {
        #[cfg(not(loom))]
        impl<$($generics)*> Default for $lock {
            fn default() -> Self {
                Self::new()
            }
        }

        // SAFETY: a writer excludes everybody, readers exclude writers: argued at the head of the lock's file.
        #[cfg(not(loom))]
        unsafe impl<$($generics)*> lock_api::RawRwLock for $lock {
            #[allow(clippy::declare_interior_mutable_const)] // a template for a new lock, never shared
            const INIT: Self = <$lock>::new();
            type SharedGuard = lock_api::GuardSend;
            type ExclusiveGuard = lock_api::GuardSend;

            #[inline]
            fn lock_shared(&self) -> Self::SharedGuard {
                <$lock>::lock_shared(self);
                lock_api::GuardSend::new()
            }

            #[inline]
            fn try_lock_shared(&self) -> Option<Self::SharedGuard> {
                <$lock>::try_lock_shared(self).then(lock_api::GuardSend::new)
            }

            #[inline]
            unsafe fn unlock_shared(&self, _: Self::SharedGuard) {
                // SAFETY: the caller has the guard of a shared acquisition.
                unsafe { <$lock>::unlock_shared(self) }
            }

            #[inline]
            fn lock_exclusive(&self) -> Self::ExclusiveGuard {
                <$lock>::lock_exclusive(self);
                lock_api::GuardSend::new()
            }

            #[inline]
            fn try_lock_exclusive(&self) -> Option<Self::ExclusiveGuard> {
                <$lock>::try_lock_exclusive(self).then(lock_api::GuardSend::new)
            }

            #[inline]
            unsafe fn unlock_exclusive(&self, _: Self::ExclusiveGuard) {
                // SAFETY: the caller has the guard of the exclusive acquisition.
                unsafe { <$lock>::unlock_exclusive(self) }
            }

            #[inline]
            fn is_locked(&self) -> bool {
                <$lock>::is_locked(self)
            }

            #[inline]
            fn is_locked_exclusive(&self) -> bool {
                <$lock>::is_locked_exclusive(self)
            }
        }
    };
}

/// `lock_api::RawRwLockTimed`, from private `lock_shared_by(deadline)` and `lock_exclusive_by(deadline)`.
macro_rules! raw_rwlock_timed {
    ([$($generics:tt)*] $lock:ty) => {
        impl<$($generics)*> $lock {
            /// Takes the lock for reading if it can within `timeout`; says whether it did.
            pub fn try_lock_shared_for(&self, timeout: core::time::Duration) -> bool {
                self.try_lock_shared() || self.lock_shared_by(crate::futex::Deadline::after(timeout))
            }

            /// Takes the lock for reading if it can before `deadline`; says whether it did.
            #[cfg(feature = "std")]
            pub fn try_lock_shared_until(&self, deadline: std::time::Instant) -> bool {
                self.try_lock_shared() || self.lock_shared_by(crate::futex::Deadline::at(deadline))
            }

            /// Takes the lock for writing if it can within `timeout`; says whether it did.
            pub fn try_lock_exclusive_for(&self, timeout: core::time::Duration) -> bool {
                self.try_lock_exclusive() || self.lock_exclusive_by(crate::futex::Deadline::after(timeout))
            }

            /// Takes the lock for writing if it can before `deadline`; says whether it did.
            #[cfg(feature = "std")]
            pub fn try_lock_exclusive_until(&self, deadline: std::time::Instant) -> bool {
                self.try_lock_exclusive() || self.lock_exclusive_by(crate::futex::Deadline::at(deadline))
            }
        }

        // SAFETY: `true` from the methods above means that the lock was taken in that mode.
        #[cfg(all(feature = "std", not(loom)))]
        unsafe impl<$($generics)*> lock_api::RawRwLockTimed for $lock {
            type Duration = core::time::Duration;
            type Instant = std::time::Instant;

            fn try_lock_shared_for(&self, timeout: core::time::Duration) -> Option<Self::SharedGuard> {
                <$lock>::try_lock_shared_for(self, timeout).then(lock_api::GuardSend::new)
            }

            fn try_lock_shared_until(&self, deadline: std::time::Instant) -> Option<Self::SharedGuard> {
                <$lock>::try_lock_shared_until(self, deadline).then(lock_api::GuardSend::new)
            }

            fn try_lock_exclusive_for(&self, timeout: core::time::Duration) -> Option<Self::ExclusiveGuard> {
                <$lock>::try_lock_exclusive_for(self, timeout).then(lock_api::GuardSend::new)
            }

            fn try_lock_exclusive_until(&self, deadline: std::time::Instant) -> Option<Self::ExclusiveGuard> {
                <$lock>::try_lock_exclusive_until(self, deadline).then(lock_api::GuardSend::new)
            }
        }
    };
}

/// The timed form of `lock_shared_recursive`, from a private `lock_shared_recursive_by(deadline)`.
macro_rules! raw_rwlock_recursive {
    ([$($generics:tt)*] $lock:ty) => {
        impl<$($generics)*> $lock {
            /// As `lock_shared_recursive`, if it can within `timeout`; says whether it did.
            pub fn try_lock_shared_recursive_for(&self, timeout: core::time::Duration) -> bool {
                self.try_lock_shared_recursive()
                    || self.lock_shared_recursive_by(crate::futex::Deadline::after(timeout))
            }
        }
    };
}
