//! Acquiring a free mutex in the way of the C library.
//!
//! The C library's functions are a call each that saves registers and branches on the kind of the mutex; `trylock`,
//! which alone shows that the mutex was free, saves five. Acquiring a free mutex changes four words. Whether they are
//! those of this C library is determined by a comparison with it, once: both ways are used on a mutex of each type, and
//! all bytes must be the same.
//! Waiting for a mutex and releasing it stay the C library's.

use super::external::pthread_key_create;
use super::next;
use super::thread_number::gettid;
use crate::shared::next_object::object_of;
use core::ffi::c_void;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// The number of types that are acquired so: default, recursive, error-checking, adaptive; but 0 where the C library's
/// mutexes are different. Mutexes that are robust, shared between processes, or have a protocol have a higher number.
static TYPES: AtomicU32 = AtomicU32::new(0);
const ALL_TYPES: u32 = 4;
const RECURSIVE: u32 = 1;

/// The C library's mutex on 64-bit machines.
#[repr(C)]
struct Mutex {
    /// 0 if it is free, 1 if not, 2 if a thread may wait.
    taken: AtomicU32,
    /// The depth of a recursive one.
    depth: AtomicU32,
    /// The kernel's number of the thread that has it.
    owner: AtomicU32,
    /// The number of threads that have it or wait on a condition with it.
    users: AtomicU32,
    kind: AtomicU32,
    rest: [AtomicU32; 5],
}

/// Acquires the mutex for the calling thread, whose number that is; returns `false`, with nothing done, if it is not
/// free, or is not one that is acquired so.
#[inline(always)]
pub fn take(mutex: *mut c_void, thread: u32) -> bool {
    // SAFETY: the program gives a mutex.
    let mutex = unsafe { &*mutex.cast::<Mutex>() };
    let kind = mutex.kind.load(Relaxed);
    kind < TYPES.load(Relaxed) && mutex.take(kind, thread)
}

impl Mutex {
    #[inline(always)]
    fn take(&self, kind: u32, thread: u32) -> bool {
        if next::is_single_threaded() {
            // No other thread can come between.
            if self.taken.load(Relaxed) != 0 {
                return false;
            }
            self.taken.store(1, Relaxed);
        } else if self.taken.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            return false;
        }
        if kind == RECURSIVE {
            self.depth.store(1, Relaxed);
        }
        self.owner.store(thread, Relaxed);
        self.users.store(self.users.load(Relaxed) + 1, Relaxed);
        true
    }

    fn free(kind: u32) -> Self {
        let [taken, depth, owner, users] = [const { AtomicU32::new(0) }; 4];
        Self { taken, depth, owner, users, kind: AtomicU32::new(kind), rest: [const { AtomicU32::new(0) }; 5] }
    }

    fn words(&self) -> [u32; 10] {
        // SAFETY: a `Mutex` consists of ten words, all of them atomics.
        unsafe { core::ptr::from_ref(self).cast::<[u32; 10]>().read_volatile() }
    }

    fn pointer(&self) -> *mut c_void {
        core::ptr::from_ref(self).cast_mut().cast()
    }
}

/// Compares with the C library. Another library between must not be skipped, so no comparison is made then: a sanitizer
/// would see a mutex that is released, but was never locked.
pub fn find_out() {
    next::find_all();
    let c_library = object_of(pthread_key_create as *mut c_void);
    let is_known =
        next::mutex_functions().all(|function| object_of(function) == c_library) && (0..ALL_TYPES).all(is_taken_so);
    TYPES.store(if is_known { ALL_TYPES } else { 0 }, Relaxed);
}

/// Returns whether the C library does the same to a free mutex of this type, and makes both free again.
fn is_taken_so(kind: u32) -> bool {
    let (ours, theirs) = (Mutex::free(kind), Mutex::free(kind));
    // SAFETY: both mutexes are in the state that their initialisers make, which no other thread knows.
    let has_theirs = unsafe { next::pthread_mutex_lock()(theirs.pointer()) } == 0;
    if !has_theirs || !ours.take(kind, gettid()) || ours.words() != theirs.words() {
        return false;
    }
    // SAFETY: both mutexes are initialised ones that no other thread knows, and this thread holds them.
    let are_released = [&ours, &theirs].map(|one| unsafe { next::pthread_mutex_unlock()(one.pointer()) } == 0);
    let is_free = |one: &Mutex| one.words() == Mutex::free(kind).words();
    are_released == [true, true] && is_free(&ours) && is_free(&theirs)
}
