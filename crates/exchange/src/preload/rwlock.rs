//! A reader-writer lock of the C library with `AdaptiveRw` in it; and `pthread_rwlock_*`, also by the names with two
//! underscores that old libraries call. Destroying one has no effect, in the C library as here.
//!
//! | bytes | the C library's | here |
//! |---|---|---|
//! | 0..4 | `__readers` | the lock |
//! | 4..8 | `__writers` | the number of waiting writers |
//! | 8..16 | `__wrphase_futex`, `__writers_futex` | the writer that has it |
//! | 28..32 | `__shared` | the same |
//! | 48..52 | `__flags`: the preference | the same |
//!
//! All of the C library's initialisers write 0 everywhere but in the last two, and that is a free substituted lock.
//!
//! # Preference
//! The C library's own prefers readers by default: a reader that arrives while others read waits for no writer.
//! Programs rely on that where a thread reads twice, or waits for another reader. So a reader of such a lock passes
//! waiting writers if its thread holds any lock for reading. Otherwise it lets them go first, but only for a
//! millisecond. So no thread waits forever that would not have done so, and a writer gets in past readers that each
//! read for less.
//!
//! A writer that gave up may have left its mark in the lock's word, for others that its wake-up may have been for.
//! Whether a writer waits is read from the count; readers that sleep behind one that gave up notice it a millisecond
//! later.

use super::choice::count;
use super::thread::{reads, reads_one_less, reads_one_more, thread_number};
use super::{choice, locks, next};
use crate::adaptive_rw::AdaptiveRw;
use crate::c::{CLOCK_REALTIME, EBUSY, EDEADLK, EINVAL, ETIMEDOUT, Timespec};
use crate::futex::{Deadline, sooner};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

#[repr(C)]
struct ReadersLock {
    lock: AdaptiveRw,
    writers: AtomicU32,
    writer: AtomicU64,
    _theirs: [u32; 3],
    shared: AtomicU32,
    _theirs_too: [u32; 4],
    preference: AtomicU32,
}

const _: () = assert!(core::mem::offset_of!(ReadersLock, shared) == 28);
const _: () = assert!(core::mem::offset_of!(ReadersLock, preference) == 48 && size_of::<ReadersLock>() == 56);

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`: the only kind that lets a writer go first.
const WRITERS_FIRST: u32 = 2;
/// The time for which a reader lets writers go first that it may pass.
const COURTESY: Duration = Duration::from_millis(1);

/// Returns the lock that a program points to.
///
/// # Safety
/// It is one, and lives as long as the call.
unsafe fn at<'a>(lock: *mut c_void) -> &'a ReadersLock {
    // SAFETY: the caller promises that it is one; it has the same size and alignment.
    unsafe { &*lock.cast() }
}

impl ReadersLock {
    /// Returns whether processes may share it.
    pub fn is_shared(&self) -> bool {
        self.shared.load(Relaxed) != 0
    }

    /// Returns whether it stays the C library's.
    #[inline(always)]
    pub fn is_c_librarys(&self) -> bool {
        self.is_shared() || choice::leaves(core::ptr::from_ref(self).addr())
    }

    /// Returns whether this thread has it for writing.
    #[inline(always)]
    fn is_written_by_this_thread(&self) -> bool {
        self.writer.load(Relaxed) == thread_number()
    }

    fn prefers_writers(&self) -> bool {
        self.preference.load(Relaxed) == WRITERS_FIRST
    }

    #[inline(always)]
    pub fn read(&self, deadline: Option<Deadline>) -> c_int {
        if self.is_written_by_this_thread() {
            return EDEADLK;
        }
        if !self.lock.try_lock_shared() && !self.read_slowly(deadline) {
            return ETIMEDOUT;
        }
        reads_one_more();
        0
    }

    #[cold]
    fn read_slowly(&self, deadline: Option<Deadline>) -> bool {
        let (prefers_writers, mut has_left_the_way) = (self.prefers_writers(), reads() > 0);
        while self.writers.load(Relaxed) > 0 && (prefers_writers || !has_left_the_way) {
            if self.lock.lock_shared_until(sooner(deadline, Some(COURTESY))) {
                return true;
            }
            if prefers_writers && deadline.is_some_and(|deadline| deadline.passed()) {
                return false;
            }
            has_left_the_way = true;
        }
        self.lock.lock_shared_recursive_until(deadline)
    }

    pub fn try_read(&self) -> c_int {
        let leaves_the_way = self.prefers_writers() && self.writers.load(Relaxed) > 0;
        let is_had = if leaves_the_way {
            self.is_had(AdaptiveRw::try_lock_shared)
        } else {
            self.lock.try_lock_shared_recursive()
        };
        if !is_had {
            return EBUSY;
        }
        reads_one_more();
        0
    }

    /// Tries a free lock until it is acquired: the first try fails for one that is kept for a waiter, which may not
    /// come.
    fn is_had(&self, tries: impl Fn(&AdaptiveRw) -> bool) -> bool {
        loop {
            if tries(&self.lock) {
                return true;
            }
            if self.lock.is_locked() {
                return false;
            }
        }
    }

    #[inline(always)]
    pub fn write(&self, deadline: Option<Deadline>) -> c_int {
        if self.is_written_by_this_thread() {
            return EDEADLK;
        }
        if !self.lock.try_lock_exclusive() && !self.write_slowly(deadline) {
            return ETIMEDOUT;
        }
        self.writer.store(thread_number(), Relaxed);
        0
    }

    #[cold]
    fn write_slowly(&self, deadline: Option<Deadline>) -> bool {
        self.writers.fetch_add(1, Relaxed);
        let is_had = self.lock.lock_exclusive_until(deadline);
        self.writers.fetch_sub(1, Relaxed);
        is_had
    }

    pub fn try_write(&self) -> c_int {
        if !self.is_had(AdaptiveRw::try_lock_exclusive) {
            return EBUSY;
        }
        self.writer.store(thread_number(), Relaxed);
        0
    }

    /// Releases it.
    ///
    /// Whether it is held for writing is read from the lock, and not from the thread: the program is responsible for
    /// which thread releases it. The C library allows releasing a free one, which is then unusable; here it has no
    /// effect.
    #[inline(always)]
    pub fn unlock(&self) -> c_int {
        if self.lock.is_locked_exclusive() {
            self.writer.store(0, Relaxed);
            // SAFETY: a writer has it, and the program releases it.
            unsafe { self.lock.unlock_exclusive() };
        } else if self.lock.is_locked() {
            reads_one_less();
            // SAFETY: a reader has it, and the program releases it.
            unsafe { self.lock.unlock_shared() };
        }
        0
    }
}

/// Defines a replaced function: `replaced!(name: (arguments) |lock| body)`, where any lock was chosen and this one can
/// be substituted.
macro_rules! replaced {
    ($name:ident: ($($letter:ident: $argument:ty),*) |$object:ident| $body:expr) => {
        #[cfg_attr(preload, unsafe(no_mangle))]
        pub extern "C" fn $name(lock: *mut c_void $(, $letter: $argument)*) -> c_int {
            // SAFETY: the program gives a lock, which lives as long as the call.
            let $object: &ReadersLock = unsafe { at(lock) };
            // The choice is read before the lock: it defines which ones are selected.
            if locks::any() && !$object.is_c_librarys() {
                return $body;
            }
            // SAFETY: the arguments are passed on as the program gave them.
            unsafe { next::$name()(lock $(, $letter)*) }
        }
    };
}

/// Defines a second name: `also!(a second name, name)`.
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

/// Acquires it before the deadline.
///
/// The C library checks the time first here, and not only if the thread has to wait.
///
/// # Safety
/// The pointer is to a time.
unsafe fn by(clock: c_int, time: *const Timespec, take: impl FnOnce(Option<Deadline>) -> c_int) -> c_int {
    // SAFETY: the caller promises that the pointer is to a time.
    match Deadline::from_program(clock, unsafe { *time }) {
        Some(deadline) => take(Some(deadline)),
        None => EINVAL,
    }
}

/// Calls the C library's own function, which leaves a free substituted lock where that is possible; the others are
/// counted.
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
