//! `pthread_rwlock_*`, and the names with two underscores that old libraries call. To destroy one is nothing, for the C
//! library as for us.

use crate::c::{CLOCK_REALTIME, EINVAL, Timespec};
use crate::futex::Deadline;
use crate::preload::choice::count;
use crate::preload::rwlock::{ReadersLock, at};
use crate::preload::{locks, next};
use core::ffi::{c_int, c_void};

/// `replaced!(name: (arguments) |lock| ours)`: ours, where any lock was asked for and it can be ours.
macro_rules! replaced {
    ($name:ident: ($($letter:ident: $argument:ty),*) |$object:ident| $ours:expr) => {
        #[cfg_attr(preload, unsafe(no_mangle))]
        pub extern "C" fn $name(lock: *mut c_void $(, $letter: $argument)*) -> c_int {
            // SAFETY: the program gives a lock, which lives as long as the call.
            let $object: &ReadersLock = unsafe { at(lock) };
            // The choice is known before the lock is asked: it says which ones are meant.
            if locks::any() && !$object.is_theirs() {
                return $ours;
            }
            // SAFETY: the arguments are passed on as the program gave them.
            unsafe { next::$name()(lock $(, $letter)*) }
        }
    };
}

/// `also!(a second name, name)`.
macro_rules! also {
    ($other:ident, $name:ident) => {
        #[cfg_attr(preload, unsafe(no_mangle))]
        extern "C" fn $other(lock: *mut c_void) -> c_int {
            $name(lock)
        }
    };
}

replaced!(pthread_rwlock_rdlock: () |lock| lock.read(None));
replaced!(pthread_rwlock_tryrdlock: () |lock| lock.try_read());
replaced!(pthread_rwlock_wrlock: () |lock| lock.write(None));
replaced!(pthread_rwlock_trywrlock: () |lock| lock.try_write());
replaced!(pthread_rwlock_unlock: () |lock| lock.unlock());
replaced!(pthread_rwlock_timedrdlock: (time: *const Timespec) |lock| {
    // SAFETY: the program gives a time.
    unsafe { by(CLOCK_REALTIME, time, |deadline| lock.read(deadline)) }
});
replaced!(pthread_rwlock_timedwrlock: (time: *const Timespec) |lock| {
    // SAFETY: the program gives a time.
    unsafe { by(CLOCK_REALTIME, time, |deadline| lock.write(deadline)) }
});
replaced!(pthread_rwlock_clockrdlock: (clock: c_int, time: *const Timespec) |lock| {
    // SAFETY: the program gives a time.
    unsafe { by(clock, time, |deadline| lock.read(deadline)) }
});
replaced!(pthread_rwlock_clockwrlock: (clock: c_int, time: *const Timespec) |lock| {
    // SAFETY: the program gives a time.
    unsafe { by(clock, time, |deadline| lock.write(deadline)) }
});
also!(__pthread_rwlock_rdlock, pthread_rwlock_rdlock);
also!(__pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock);
also!(__pthread_rwlock_wrlock, pthread_rwlock_wrlock);
also!(__pthread_rwlock_trywrlock, pthread_rwlock_trywrlock);
also!(__pthread_rwlock_unlock, pthread_rwlock_unlock);

/// Takes it by then. The C library asks first whether it is a time, here, and not only of who has to wait.
///
/// # Safety
/// The pointer is to a time.
unsafe fn by(clock: c_int, time: *const Timespec, take: impl FnOnce(Option<Deadline>) -> c_int) -> c_int {
    // SAFETY: the caller's.
    match Deadline::given(clock, unsafe { *time }) {
        Some(deadline) => take(Some(deadline)),
        None => EINVAL,
    }
}

/// The C library's own, which leaves a free lock of ours where it can be ours; what cannot is counted.
#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_rwlock_init(lock: *mut c_void, attributes: *mut c_void) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    let code = unsafe { next::pthread_rwlock_init()(lock, attributes) };
    // SAFETY: the program gives a lock.
    if code == 0 && locks::any() && unsafe { at(lock) }.is_shared() {
        count(|left| &left.rwlocks);
    }
    code
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn __pthread_rwlock_init(lock: *mut c_void, attributes: *mut c_void) -> c_int {
    pthread_rwlock_init(lock, attributes)
}
