//! Taking a free mutex as the C library would.
//!
//! Its own functions are a call each that keeps registers and asks what kind of mutex it is; `trylock`, by which alone
//! one learns that nobody had it, keeps five. What becomes of a free mutex is four words. Whether they are those of this
//! C library is asked of itself, once: both ways are gone with a mutex of each type, and all bytes must be the same.
//! Waiting for a mutex and releasing it stay the C library's.

use super::external::{gettid, pthread_key_create};
use super::next;
use crate::shared::next_object::object_of;
use core::ffi::c_void;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// How many types are taken so: default, recursive, error-checking, adaptive; but 0 where the C library's mutexes are
/// others. What is robust, shared between processes, or has a protocol has a higher number.
static TYPES: AtomicU32 = AtomicU32::new(0);
const ALL_TYPES: u32 = 4;
const RECURSIVE: u32 = 1;

/// As the C library has it on 64-bit machines.
#[repr(C)]
struct Mutex {
    /// 0 if it is free, 1 if not, 2 if somebody may wait.
    taken: AtomicU32,
    /// Of a recursive one.
    depth: AtomicU32,
    /// The kernel's number of the thread that has it.
    owner: AtomicU32,
    /// Who has it or waits on a condition with it.
    users: AtomicU32,
    kind: AtomicU32,
    rest: [AtomicU32; 5],
}

/// Takes it for the calling thread, whose number that is; `false`, and nothing was done, if it is not free, or is none
/// that is taken so.
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
            // Nobody can come between.
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
        // SAFETY: it is as many words, all of them atomics.
        unsafe { core::ptr::from_ref(self).cast::<[u32; 10]>().read_volatile() }
    }

    fn pointer(&self) -> *mut c_void {
        core::ptr::from_ref(self).cast_mut().cast()
    }
}

/// Asks the C library. Another library that is in its way must not be passed over, and is not asked: a sanitizer would
/// see a mutex that is released, but was never locked.
pub fn find_out() {
    next::find_all();
    let c_library = object_of(pthread_key_create as *mut c_void);
    let is_known =
        next::mutex_functions().all(|function| object_of(function) == c_library) && (0..ALL_TYPES).all(is_taken_so);
    TYPES.store(if is_known { ALL_TYPES } else { 0 }, Relaxed);
}

/// Whether the C library does the same to a free one of this type, and makes both free again.
fn is_taken_so(kind: u32) -> bool {
    let (ours, theirs) = (Mutex::free(kind), Mutex::free(kind));
    // SAFETY: both are mutexes as their initialisers make them, which nobody else knows.
    let has_theirs = unsafe { next::pthread_mutex_lock()(theirs.pointer()) } == 0;
    if !has_theirs || !ours.take(kind, gettid()) || ours.words() != theirs.words() {
        return false;
    }
    // SAFETY: as above, and this thread has them.
    let are_released = [&ours, &theirs].map(|one| unsafe { next::pthread_mutex_unlock()(one.pointer()) } == 0);
    let is_free = |one: &Mutex| one.words() == Mutex::free(kind).words();
    are_released == [true, true] && is_free(&ours) && is_free(&theirs)
}
