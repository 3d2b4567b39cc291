//! Macros for `const` constructors and for the traits of `lock_api`: those of 0.5, and those of 0.4 on top of them.

/// Guard without state of `lock_api` 0.5, with the marker of 0.4 that makes a guard `Send` exactly if this one is.
///
/// It is public, in a private module, because implementations of public traits contain it.
#[cfg(all(feature = "lock_api_04", not(loom)))]
#[doc(hidden)]
pub trait StatelessGuard: Default {
    /// Marker of `lock_api` 0.4.
    type Marker;
}

#[cfg(all(feature = "lock_api_04", not(loom)))]
impl StatelessGuard for lock_api::GuardSend {
    type Marker = lock_api_04::GuardSend;
}

#[cfg(all(feature = "lock_api_04", not(loom)))]
impl StatelessGuard for lock_api::GuardNoSend {
    type Marker = lock_api_04::GuardNoSend;
}

/// Defines a `const fn`; under loom a plain `fn`, because loom's atomics cannot be created in a constant.
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

/// Implements `lock_api::RawMutex` for a lock by its inherent `lock`, `try_lock`, `unlock` and `is_locked`.
macro_rules! raw_mutex {
    ([$($generics:tt)*] $lock:ty, $guard:ty) => {
        #[cfg(not(loom))]
        impl<$($generics)*> Default for $lock {
            fn default() -> Self {
                Self::new()
            }
        }

        // SAFETY: the lock excludes other threads; the module documentation of its file contains the argument. The
        // guard has no state. It is `GuardNoSend` where the lock remembers the thread that acquired it.
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
                // SAFETY: the caller holds the lock, because it has the guard.
                unsafe { <$lock>::unlock(self) }
            }

            #[inline]
            fn is_locked(&self) -> bool {
                <$lock>::is_locked(self)
            }
        }

        raw_mutex_04!([$($generics)*] $lock);
    };
}

/// Implements `RawMutex` of `lock_api` 0.4 by that of 0.5.
macro_rules! raw_mutex_04 {
    ([$($generics:tt)*] $lock:ty) => {
        // SAFETY: the lock excludes other threads, as 0.5 requires too.
        #[cfg(all(feature = "lock_api_04", not(loom)))]
        unsafe impl<$($generics)*> lock_api_04::RawMutex for $lock {
            #[allow(clippy::declare_interior_mutable_const)] // a template for a new lock, never shared
            const INIT: Self = <Self as lock_api::RawMutex>::INIT;
            type GuardMarker = <<Self as lock_api::RawMutex>::Guard as crate::raw::StatelessGuard>::Marker;

            #[inline]
            fn lock(&self) {
                lock_api::RawMutex::lock(self);
            }

            #[inline]
            fn try_lock(&self) -> bool {
                lock_api::RawMutex::try_lock(self).is_some()
            }

            #[inline]
            unsafe fn unlock(&self) {
                // SAFETY: the caller holds the lock. Its guard has no state, so a new one replaces it.
                unsafe { lock_api::RawMutex::unlock(self, Default::default()) }
            }

            #[inline]
            fn is_locked(&self) -> bool {
                lock_api::RawMutex::is_locked(self)
            }
        }
    };
}

/// Implements `lock_api::RawMutexTimed` by an attempt, and a private `lock_by(deadline)`.
///
/// The attempt does not cancel another thread's reservation, as `try_lock` of some locks does: the wait that follows lets it
/// expire.
macro_rules! raw_mutex_timed {
    ([$($generics:tt)*] $lock:ty, $guard:ty, $attempt:expr) => {
        impl<$($generics)*> $lock {
            /// Acquires the lock if it becomes unlocked within `timeout`; returns whether it did.
            pub fn try_lock_for(&self, timeout: core::time::Duration) -> bool {
                $attempt(self) || self.lock_by(crate::futex::Deadline::after(timeout))
            }

            /// Acquires the lock if it becomes unlocked before `deadline`; returns whether it did.
            #[cfg(feature = "std")]
            pub fn try_lock_until(&self, deadline: std::time::Instant) -> bool {
                $attempt(self) || self.lock_by(crate::futex::Deadline::at(deadline))
            }
        }

        // SAFETY: the inherent methods return `true` only if they acquired the lock.
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

        raw_mutex_timed_04!([$($generics)*] $lock);
    };
}

/// Implements `RawMutexTimed` of `lock_api` 0.4 by that of 0.5.
macro_rules! raw_mutex_timed_04 {
    ([$($generics:tt)*] $lock:ty) => {
        // SAFETY: the methods of 0.5 return a guard only if they acquired the lock.
        #[cfg(all(feature = "lock_api_04", feature = "std", not(loom)))]
        unsafe impl<$($generics)*> lock_api_04::RawMutexTimed for $lock {
            type Duration = <Self as lock_api::RawMutexTimed>::Duration;
            type Instant = <Self as lock_api::RawMutexTimed>::Instant;

            fn try_lock_for(&self, timeout: Self::Duration) -> bool {
                lock_api::RawMutexTimed::try_lock_for(self, timeout).is_some()
            }

            fn try_lock_until(&self, deadline: Self::Instant) -> bool {
                lock_api::RawMutexTimed::try_lock_until(self, deadline).is_some()
            }
        }
    };
}

/// Implements `lock_api::RawMutexFair` by an inherent `unlock_fair`, or by the named method.
macro_rules! raw_mutex_fair {
    ([$($generics:tt)*] $lock:ty) => {
        raw_mutex_fair!([$($generics)*] $lock, unlock_fair);
    };
    ([$($generics:tt)*] $lock:ty, $unlock:ident) => {
        // SAFETY: the inherent method releases the lock and hands it off to a waiting thread.
        #[cfg(not(loom))]
        unsafe impl<$($generics)*> lock_api::RawMutexFair for $lock {
            unsafe fn unlock_fair(&self, _: Self::Guard) {
                // SAFETY: the caller holds the lock, because it has the guard.
                unsafe { <$lock>::$unlock(self) }
            }
        }

        raw_mutex_fair_04!([$($generics)*] $lock);
    };
}

/// Implements `RawMutexFair` of `lock_api` 0.4 by that of 0.5.
macro_rules! raw_mutex_fair_04 {
    ([$($generics:tt)*] $lock:ty) => {
        // SAFETY: the method of 0.5 releases the lock, as `unlock` does.
        #[cfg(all(feature = "lock_api_04", not(loom)))]
        unsafe impl<$($generics)*> lock_api_04::RawMutexFair for $lock {
            unsafe fn unlock_fair(&self) {
                // SAFETY: the caller holds the lock. Its guard has no state, so a new one replaces it.
                unsafe { lock_api::RawMutexFair::unlock_fair(self, Default::default()) }
            }
        }
    };
}

/// Implements `lock_api::RawRwLock` for a lock by its inherent methods of the same names.
macro_rules! raw_rwlock {
    ([$($generics:tt)*] $lock:ty) => {
        #[cfg(not(loom))]
        impl<$($generics)*> Default for $lock {
            fn default() -> Self {
                Self::new()
            }
        }

        // SAFETY: a writer excludes all other threads, and readers exclude writers; the module documentation of the
        // lock's file contains the argument.
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

        // SAFETY: a writer excludes all other threads, and readers exclude writers, as 0.5 requires too.
        #[cfg(all(feature = "lock_api_04", not(loom)))]
        unsafe impl<$($generics)*> lock_api_04::RawRwLock for $lock {
            #[allow(clippy::declare_interior_mutable_const)] // a template for a new lock, never shared
            const INIT: Self = <$lock>::new();
            type GuardMarker = lock_api_04::GuardSend;

            #[inline]
            fn lock_shared(&self) {
                <$lock>::lock_shared(self);
            }

            #[inline]
            fn try_lock_shared(&self) -> bool {
                <$lock>::try_lock_shared(self)
            }

            #[inline]
            unsafe fn unlock_shared(&self) {
                // SAFETY: the caller has a shared acquisition.
                unsafe { <$lock>::unlock_shared(self) }
            }

            #[inline]
            fn lock_exclusive(&self) {
                <$lock>::lock_exclusive(self);
            }

            #[inline]
            fn try_lock_exclusive(&self) -> bool {
                <$lock>::try_lock_exclusive(self)
            }

            #[inline]
            unsafe fn unlock_exclusive(&self) {
                // SAFETY: the caller has the exclusive acquisition.
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

/// Implements `lock_api::RawRwLockTimed` by an attempt for each side, as for `raw_mutex_timed`, and private
/// `lock_shared_by(deadline)` and `lock_exclusive_by(deadline)`.
macro_rules! raw_rwlock_timed {
    ([$($generics:tt)*] $lock:ty, $shared:expr, $exclusive:expr) => {
        impl<$($generics)*> $lock {
            /// Acquires the lock for reading if that is possible within `timeout`; returns whether it did.
            pub fn try_lock_shared_for(&self, timeout: core::time::Duration) -> bool {
                $shared(self) || self.lock_shared_by(crate::futex::Deadline::after(timeout))
            }

            /// Acquires the lock for reading if that is possible before `deadline`; returns whether it did.
            #[cfg(feature = "std")]
            pub fn try_lock_shared_until(&self, deadline: std::time::Instant) -> bool {
                $shared(self) || self.lock_shared_by(crate::futex::Deadline::at(deadline))
            }

            /// Acquires the lock for writing if that is possible within `timeout`; returns whether it did.
            pub fn try_lock_exclusive_for(&self, timeout: core::time::Duration) -> bool {
                $exclusive(self) || self.lock_exclusive_by(crate::futex::Deadline::after(timeout))
            }

            /// Acquires the lock for writing if that is possible before `deadline`; returns whether it did.
            #[cfg(feature = "std")]
            pub fn try_lock_exclusive_until(&self, deadline: std::time::Instant) -> bool {
                $exclusive(self) || self.lock_exclusive_by(crate::futex::Deadline::at(deadline))
            }
        }

        // SAFETY: the inherent methods return `true` only if they acquired the lock in that mode.
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

        // SAFETY: the inherent methods return `true` only if they acquired the lock in that mode.
        #[cfg(all(feature = "lock_api_04", feature = "std", not(loom)))]
        unsafe impl<$($generics)*> lock_api_04::RawRwLockTimed for $lock {
            type Duration = core::time::Duration;
            type Instant = std::time::Instant;

            fn try_lock_shared_for(&self, timeout: core::time::Duration) -> bool {
                <$lock>::try_lock_shared_for(self, timeout)
            }

            fn try_lock_shared_until(&self, deadline: std::time::Instant) -> bool {
                <$lock>::try_lock_shared_until(self, deadline)
            }

            fn try_lock_exclusive_for(&self, timeout: core::time::Duration) -> bool {
                <$lock>::try_lock_exclusive_for(self, timeout)
            }

            fn try_lock_exclusive_until(&self, deadline: std::time::Instant) -> bool {
                <$lock>::try_lock_exclusive_until(self, deadline)
            }
        }
    };
}

/// Defines the timed form of `lock_shared_recursive` by an attempt, and a private
/// `lock_shared_recursive_by(deadline)`.
macro_rules! raw_rwlock_recursive {
    ([$($generics:tt)*] $lock:ty, $attempt:expr) => {
        impl<$($generics)*> $lock {
            /// Acquires the lock for reading as `lock_shared_recursive` does, if that is possible within `timeout`;
            /// returns whether it did.
            pub fn try_lock_shared_recursive_for(&self, timeout: core::time::Duration) -> bool {
                $attempt(self)
                    || self.lock_shared_recursive_by(crate::futex::Deadline::after(timeout))
            }
        }
    };
}

/// Implements the traits of `lock_api` for downgrades and upgrades by inherent methods of the same names. Defines the timed ones
/// by an attempt for each, as for `raw_mutex_timed`, and private `lock_upgradable_by(deadline)` and
/// `upgrade_by(deadline)`.
macro_rules! raw_rwlock_upgrade {
    ([$($generics:tt)*] $lock:ty, $upgradable:expr, $upgrade:expr) => {
        impl<$($generics)*> $lock {
            /// Acquires the lock upgradably if that is possible within `timeout`; returns whether it did.
            pub fn try_lock_upgradable_for(&self, timeout: core::time::Duration) -> bool {
                $upgradable(self) || self.lock_upgradable_by(crate::futex::Deadline::after(timeout))
            }

            /// Acquires the lock upgradably if that is possible before `deadline`; returns whether it did.
            #[cfg(feature = "std")]
            pub fn try_lock_upgradable_until(&self, deadline: std::time::Instant) -> bool {
                $upgradable(self) || self.lock_upgradable_by(crate::futex::Deadline::at(deadline))
            }

            /// Upgrades as `upgrade` does if the other readers leave within `timeout`; returns whether it did.
            ///
            /// If it did not, readers that waited for the upgrade can acquire the lock again.
            ///
            /// # Safety
            ///
            /// The caller holds the lock upgradably, and afterwards for writing if the result is `true`.
            pub unsafe fn try_upgrade_for(&self, timeout: core::time::Duration) -> bool {
                $upgrade(self) || self.upgrade_by(crate::futex::Deadline::after(timeout))
            }

            /// Upgrades as `upgrade` does if the other readers leave before `deadline`; returns whether it did.
            ///
            /// # Safety
            ///
            /// The caller holds the lock upgradably, and afterwards for writing if the result is `true`.
            #[cfg(feature = "std")]
            pub unsafe fn try_upgrade_until(&self, deadline: std::time::Instant) -> bool {
                $upgrade(self) || self.upgrade_by(crate::futex::Deadline::at(deadline))
            }
        }

        // SAFETY: the inherent method leaves no moment at which another thread could acquire the lock for writing, and
        // its change of the word is a release.
        #[cfg(not(loom))]
        unsafe impl<$($generics)*> lock_api::RawRwLockDowngrade for $lock {
            #[inline]
            unsafe fn downgrade(&self, _: Self::ExclusiveGuard) -> Self::SharedGuard {
                // SAFETY: the caller has the guard of the exclusive acquisition.
                unsafe { <$lock>::downgrade(self) };
                lock_api::GuardSend::new()
            }
        }

        // SAFETY: an upgradable holder excludes writers and other upgradable holders. An upgrade waits for the other
        // readers, and its change of the word acquires from their releases.
        #[cfg(not(loom))]
        unsafe impl<$($generics)*> lock_api::RawRwLockUpgrade for $lock {
            type UpgradableGuard = lock_api::GuardSend;

            #[inline]
            fn lock_upgradable(&self) -> Self::UpgradableGuard {
                <$lock>::lock_upgradable(self);
                lock_api::GuardSend::new()
            }

            #[inline]
            fn try_lock_upgradable(&self) -> Option<Self::UpgradableGuard> {
                <$lock>::try_lock_upgradable(self).then(lock_api::GuardSend::new)
            }

            #[inline]
            unsafe fn unlock_upgradable(&self, _: Self::UpgradableGuard) {
                // SAFETY: the caller has the guard of the upgradable acquisition.
                unsafe { <$lock>::unlock_upgradable(self) }
            }

            #[inline]
            unsafe fn upgrade(&self, _: Self::UpgradableGuard) -> Self::ExclusiveGuard {
                // SAFETY: the caller has the guard of the upgradable acquisition.
                unsafe { <$lock>::upgrade(self) };
                lock_api::GuardSend::new()
            }

            #[inline]
            unsafe fn try_upgrade(
                &self,
                guard: Self::UpgradableGuard,
            ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
                // SAFETY: the caller has the guard of the upgradable acquisition.
                if unsafe { <$lock>::try_upgrade(self) } { Ok(lock_api::GuardSend::new()) } else { Err(guard) }
            }
        }

        // SAFETY: the inherent methods leave no moment at which the lock is not held, and their changes of the word are
        // releases.
        #[cfg(not(loom))]
        unsafe impl<$($generics)*> lock_api::RawRwLockUpgradeDowngrade for $lock {
            #[inline]
            unsafe fn downgrade_upgradable(&self, _: Self::UpgradableGuard) -> Self::SharedGuard {
                // SAFETY: the caller has the guard of the upgradable acquisition.
                unsafe { <$lock>::downgrade_upgradable(self) };
                lock_api::GuardSend::new()
            }

            #[inline]
            unsafe fn downgrade_to_upgradable(&self, _: Self::ExclusiveGuard) -> Self::UpgradableGuard {
                // SAFETY: the caller has the guard of the exclusive acquisition.
                unsafe { <$lock>::downgrade_to_upgradable(self) };
                lock_api::GuardSend::new()
            }
        }

        // SAFETY: the inherent methods return `true` only if they acquired the lock in that mode.
        #[cfg(all(feature = "std", not(loom)))]
        unsafe impl<$($generics)*> lock_api::RawRwLockUpgradeTimed for $lock {
            fn try_lock_upgradable_for(&self, timeout: core::time::Duration) -> Option<Self::UpgradableGuard> {
                <$lock>::try_lock_upgradable_for(self, timeout).then(lock_api::GuardSend::new)
            }

            fn try_lock_upgradable_until(&self, deadline: std::time::Instant) -> Option<Self::UpgradableGuard> {
                <$lock>::try_lock_upgradable_until(self, deadline).then(lock_api::GuardSend::new)
            }

            unsafe fn try_upgrade_for(
                &self,
                guard: Self::UpgradableGuard,
                timeout: core::time::Duration,
            ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
                // SAFETY: the caller has the guard of the upgradable acquisition.
                if unsafe { <$lock>::try_upgrade_for(self, timeout) } { Ok(lock_api::GuardSend::new()) } else { Err(guard) }
            }

            unsafe fn try_upgrade_until(
                &self,
                guard: Self::UpgradableGuard,
                deadline: std::time::Instant,
            ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
                // SAFETY: the caller has the guard of the upgradable acquisition.
                if unsafe { <$lock>::try_upgrade_until(self, deadline) } { Ok(lock_api::GuardSend::new()) } else { Err(guard) }
            }
        }

        // SAFETY: the inherent method leaves no moment at which another thread could acquire the lock for writing, and
        // its change of the word is a release.
        #[cfg(all(feature = "lock_api_04", not(loom)))]
        unsafe impl<$($generics)*> lock_api_04::RawRwLockDowngrade for $lock {
            #[inline]
            unsafe fn downgrade(&self) {
                // SAFETY: the caller holds the lock for writing.
                unsafe { <$lock>::downgrade(self) }
            }
        }

        // SAFETY: an upgradable holder excludes writers and other upgradable holders. An upgrade waits for the other
        // readers, and its change of the word acquires from their releases.
        #[cfg(all(feature = "lock_api_04", not(loom)))]
        unsafe impl<$($generics)*> lock_api_04::RawRwLockUpgrade for $lock {
            #[inline]
            fn lock_upgradable(&self) {
                <$lock>::lock_upgradable(self);
            }

            #[inline]
            fn try_lock_upgradable(&self) -> bool {
                <$lock>::try_lock_upgradable(self)
            }

            #[inline]
            unsafe fn unlock_upgradable(&self) {
                // SAFETY: the caller holds the lock upgradably.
                unsafe { <$lock>::unlock_upgradable(self) }
            }

            #[inline]
            unsafe fn upgrade(&self) {
                // SAFETY: the caller holds the lock upgradably.
                unsafe { <$lock>::upgrade(self) }
            }

            #[inline]
            unsafe fn try_upgrade(&self) -> bool {
                // SAFETY: the caller holds the lock upgradably.
                unsafe { <$lock>::try_upgrade(self) }
            }
        }

        // SAFETY: the inherent methods leave no moment at which the lock is not held, and their changes of the word are
        // releases.
        #[cfg(all(feature = "lock_api_04", not(loom)))]
        unsafe impl<$($generics)*> lock_api_04::RawRwLockUpgradeDowngrade for $lock {
            #[inline]
            unsafe fn downgrade_upgradable(&self) {
                // SAFETY: the caller holds the lock upgradably.
                unsafe { <$lock>::downgrade_upgradable(self) }
            }

            #[inline]
            unsafe fn downgrade_to_upgradable(&self) {
                // SAFETY: the caller holds the lock for writing.
                unsafe { <$lock>::downgrade_to_upgradable(self) }
            }
        }

        // SAFETY: the inherent methods return `true` only if they acquired the lock in that mode.
        #[cfg(all(feature = "lock_api_04", feature = "std", not(loom)))]
        unsafe impl<$($generics)*> lock_api_04::RawRwLockUpgradeTimed for $lock {
            fn try_lock_upgradable_for(&self, timeout: core::time::Duration) -> bool {
                <$lock>::try_lock_upgradable_for(self, timeout)
            }

            fn try_lock_upgradable_until(&self, deadline: std::time::Instant) -> bool {
                <$lock>::try_lock_upgradable_until(self, deadline)
            }

            unsafe fn try_upgrade_for(&self, timeout: core::time::Duration) -> bool {
                // SAFETY: the caller holds the lock upgradably.
                unsafe { <$lock>::try_upgrade_for(self, timeout) }
            }

            unsafe fn try_upgrade_until(&self, deadline: std::time::Instant) -> bool {
                // SAFETY: the caller holds the lock upgradably.
                unsafe { <$lock>::try_upgrade_until(self, deadline) }
            }
        }
    };
}
