//! The replaced functions, as the next object in line has them.

use super::external::Timespec;
use crate::shared::next_object::{RTLD_NEXT, dlsym, missing, next};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr};

type Time = *const Timespec;
type Object = *mut c_void;

next! {
    pthread_mutex_lock(a: Object);
    pthread_mutex_trylock(a: Object);
    pthread_mutex_timedlock(a: Object, b: Time);
    pthread_mutex_clocklock(a: Object, b: c_int, c: Time);
    pthread_mutex_unlock(a: Object);
    pthread_mutex_destroy(a: Object);
    pthread_rwlock_rdlock(a: Object);
    pthread_rwlock_tryrdlock(a: Object);
    pthread_rwlock_timedrdlock(a: Object, b: Time);
    pthread_rwlock_clockrdlock(a: Object, b: c_int, c: Time);
    pthread_rwlock_wrlock(a: Object);
    pthread_rwlock_trywrlock(a: Object);
    pthread_rwlock_timedwrlock(a: Object, b: Time);
    pthread_rwlock_clockwrlock(a: Object, b: c_int, c: Time);
    pthread_rwlock_unlock(a: Object);
    pthread_rwlock_destroy(a: Object);
    pthread_spin_lock(a: Object);
    pthread_spin_trylock(a: Object);
    pthread_spin_unlock(a: Object);
    pthread_spin_destroy(a: Object);
    pthread_cond_wait(a: Object, b: Object);
    pthread_cond_timedwait(a: Object, b: Object, c: Time);
    pthread_cond_clockwait(a: Object, b: Object, c: c_int, d: Time);
    pthread_cond_signal(a: Object);
    pthread_cond_broadcast(a: Object);
    pthread_cond_destroy(a: Object);
    pthread_barrier_wait(a: Object);
    pthread_barrier_destroy(a: Object);
    sem_wait(a: Object);
    sem_trywait(a: Object);
    sem_timedwait(a: Object, b: Time);
    sem_clockwait(a: Object, b: c_int, c: Time);
    sem_post(a: Object);
    sem_destroy(a: Object);
    pthread_create(a: Object, b: Object, c: Object, d: Object);
    pthread_join(a: Object, b: Object);
    mtx_lock(a: Object);
    mtx_trylock(a: Object);
    mtx_timedlock(a: Object, b: Time);
    mtx_unlock(a: Object);
    mtx_destroy(a: Object);
    cnd_wait(a: Object, b: Object);
    cnd_timedwait(a: Object, b: Object, c: Time);
    cnd_signal(a: Object);
    cnd_broadcast(a: Object);
    cnd_destroy(a: Object);
    prctl(a: c_int, b: usize, c: usize, d: usize, e: usize);
    mlockall(a: c_int);
    setrlimit(a: c_int, b: Object);
    getrlimit(a: c_int, b: Object);
    prlimit(a: c_int, b: c_int, c: Object, d: Object);
}

/// Whether the C library is another than GNU's, by a function that it alone has.
static IS_OTHER: AtomicBool = AtomicBool::new(false);

/// Returns whether the C library is another than GNU's, of whose locks nothing is known here.
pub fn is_other_library() -> bool {
    IS_OTHER.load(Relaxed)
}

/// Finds all of them, [`FIND_OBJECT`], and the word of [`is_single_threaded`].
pub fn find_all() {
    find_functions();
    // SAFETY: the name ends with a NUL.
    IS_OTHER.store(unsafe { dlsym(RTLD_NEXT, c"gnu_get_libc_version".as_ptr()) }.is_null(), Relaxed);
    // SAFETY: the name ends with a NUL.
    FIND_OBJECT.store(unsafe { dlsym(RTLD_NEXT, c"_dl_find_object".as_ptr()) }, Relaxed);
    // SAFETY: the name ends with a NUL.
    let single_threaded = unsafe { dlsym(RTLD_NEXT, c"__libc_single_threaded".as_ptr()) };
    if !single_threaded.is_null() {
        SINGLE_THREADED.store(single_threaded.cast(), Relaxed);
    }
}

/// Returns the functions that acquire or release mutexes, as far as the C library has them.
pub fn mutex_functions() -> impl Iterator<Item = *mut c_void> {
    let all = [&found::pthread_mutex_lock, &found::pthread_mutex_unlock, &found::mtx_lock, &found::mtx_unlock];
    all.into_iter().map(|place| place.load(Relaxed).cast()).filter(|address| *address != missing as *mut c_void)
}

/// The C library's function that finds a loaded object and its tables; null before version 2.35, and at first
/// [`NOT_LOOKED_UP`].
pub static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(NOT_LOOKED_UP);
pub const NOT_LOOKED_UP: *mut c_void = core::ptr::without_provenance_mut(1);

/// The C library's word that says whether there is one thread; older ones have none.
static SINGLE_THREADED: AtomicPtr<u8> = AtomicPtr::new((&raw const MANY).cast_mut());
static MANY: u8 = 0;

/// Returns whether the C library knows of one thread only.
#[inline(always)]
pub fn is_single_threaded() -> bool {
    // SAFETY: the pointer is to a static of this library or of the C library.
    unsafe { SINGLE_THREADED.load(Relaxed).read_volatile() != 0 }
}
