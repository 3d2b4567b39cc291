//! What the locks' files ask for to be `lock_api` locks, without `lock_api`: a lock is its own functions here.

/// What a lock that can stand in a mutex does.
pub trait RawMutex {
    /// What `lock_api` gives to who has the lock: nothing.
    type Guard;

    /// Takes it.
    fn lock(&self);
    /// Takes it if it is free, or nearly always then.
    fn try_lock(&self) -> bool;
    /// Frees it.
    ///
    /// # Safety
    /// It is held, and the caller gives up the right to it.
    unsafe fn unlock(&self);
    /// Whether somebody has it.
    fn is_locked(&self) -> bool;
}

/// For those that can be handed over; nobody asks for it here.
///
/// # Safety
/// It frees the lock.
pub unsafe trait RawMutexFair: RawMutex {
    /// Hands it over.
    ///
    /// # Safety
    /// As for `unlock`.
    unsafe fn unlock_fair(&self, _: Self::Guard);
}

/// Of the locks that are here, none minds which thread frees it.
pub struct GuardSend;

/// A `const fn`.
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
    ([$($generics:tt)*] $lock:ty, $guard:ty) => {
        impl<$($generics)*> $lock {
            /// Takes the lock if it becomes free before `deadline`; says whether it did.
            pub(crate) fn lock_until(&self, deadline: crate::futex::Deadline) -> bool {
                self.lock_by(Some(deadline))
            }
        }
    };
}

macro_rules! raw_mutex_fair {
    ([$($generics:tt)*] $lock:ty) => {};
}

/// What a lock for readers and writers does is its own functions.
macro_rules! raw_rwlock {
    ([$($generics:tt)*] $lock:ty) => {};
}

macro_rules! raw_rwlock_timed {
    ([$($generics:tt)*] $lock:ty) => {
        impl<$($generics)*> $lock {
            /// Takes the lock for reading if it can before `deadline`; says whether it did.
            pub(crate) fn lock_shared_until(&self, deadline: Option<crate::futex::Deadline>) -> bool {
                self.try_lock_shared() || self.lock_shared_by(deadline)
            }

            /// Takes the lock for writing if it can before `deadline`; says whether it did.
            pub(crate) fn lock_exclusive_until(&self, deadline: Option<crate::futex::Deadline>) -> bool {
                self.try_lock_exclusive() || self.lock_exclusive_by(deadline)
            }
        }
    };
}

macro_rules! raw_rwlock_recursive {
    ([$($generics:tt)*] $lock:ty) => {
        impl<$($generics)*> $lock {
            /// Takes the lock for reading, past writers that wait, if it can before `deadline`; says whether it did.
            pub(crate) fn lock_shared_recursive_until(&self, deadline: Option<crate::futex::Deadline>) -> bool {
                self.try_lock_shared_recursive() || self.lock_shared_recursive_by(deadline)
            }
        }
    };
}
