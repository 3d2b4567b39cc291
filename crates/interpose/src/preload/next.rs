//! The functions that are replaced, as the next object in line has them: the C library, or another that is in the way
//! as this one is.
//!
//! They are found all at once, by the first call. The loader's way to find them neither allocates nor calls what is
//! replaced, as long as it finds them; what is not there stays [`missing`].

use super::external::{ENOSYS, ObjectOf, RTLD_NEXT, Timespec, dladdr, dlsym, dlvsym};
use core::ffi::{CStr, c_int, c_void};
use core::ptr::null;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

macro_rules! next {
    ($($name:ident($($letter:ident: $argument:ty),*);)*) => {
        /// The address of each; at first that of what finds them all and then calls the one that was meant.
        #[allow(non_upper_case_globals)]
        pub mod found {
            use core::sync::atomic::AtomicPtr;

            $(pub static $name: AtomicPtr<()> = AtomicPtr::new(super::first::$name as *mut ());)*
        }

        mod first {
            use super::{Object, Time};
            use core::ffi::c_int;

            $(pub unsafe extern "C" fn $name($($letter: $argument),*) -> c_int {
                crate::preload::external::keeping_errno(super::find_all);
                // SAFETY: the arguments are passed on as they came.
                unsafe { super::$name()($($letter),*) }
            })*
        }

        static ALL: &[(&CStr, &AtomicPtr<()>)] = &[$((
            // The name ends with the NUL that is put there.
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
            &found::$name,
        )),*];

        $(/// The function of this name, as the program would have called it.
        #[inline(always)]
        pub fn $name() -> unsafe extern "C" fn($($argument),*) -> c_int {
            // SAFETY: it is the address of a C function of this name, whose type this is, of `first`'s, or of
            // `missing`, which takes whatever it is given.
            unsafe { core::mem::transmute(found::$name.load(Relaxed)) }
        })*
    };
}

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
}

/// Functions that on x86-64 were others before the GNU C library's version 2.3.2. Before its version 2.36 its `dlsym`
/// finds the oldest of several.
#[cfg(target_arch = "x86_64")]
const TWICE: &[&CStr] = &[
    c"pthread_cond_init",
    c"pthread_cond_wait",
    c"pthread_cond_timedwait",
    c"pthread_cond_signal",
    c"pthread_cond_broadcast",
    c"pthread_cond_destroy",
];
#[cfg(not(target_arch = "x86_64"))]
const TWICE: &[&CStr] = &[];

/// The next one of this name. No name is asked for that is not there, nor a version that one has not: to say so the
/// loader allocates, and an allocator may be who called, within its own lock.
///
/// Who asks for a version passes over libraries between this one and the C library, whose functions have none: so the
/// newer one is taken only where the next one is the C library's too.
fn find(name: &CStr) -> *mut c_void {
    // SAFETY: the names end with a NUL.
    let next = unsafe { dlsym(RTLD_NEXT, name.as_ptr()) };
    if !TWICE.contains(&name) {
        return next;
    }
    // SAFETY: as above.
    let newer = unsafe { dlvsym(RTLD_NEXT, name.as_ptr(), c"GLIBC_2.3.2".as_ptr()) };
    if !newer.is_null() && object_of(newer) == object_of(next) { newer } else { next }
}

/// Where the object begins that an address lies in; null if it lies in none.
pub fn object_of(address: *mut c_void) -> *const c_void {
    let mut found = ObjectOf { path: null(), begins: null(), symbol: null(), at: null() };
    // SAFETY: `found` is a structure of the shape that the function fills.
    unsafe { dladdr(address, &raw mut found) };
    found.begins
}

/// Finds all of them.
pub fn find_all() {
    for (name, place) in ALL {
        let address = find(name);
        place.store(if address.is_null() { missing as *mut () } else { address.cast() }, Relaxed);
    }
    // SAFETY: as above.
    let single_threaded = unsafe { dlsym(RTLD_NEXT, c"__libc_single_threaded".as_ptr()) };
    if !single_threaded.is_null() {
        SINGLE_THREADED.store(single_threaded.cast(), Relaxed);
    }
}

/// Those that take mutexes or release them, as far as there are any.
pub fn mutex_functions() -> impl Iterator<Item = *mut c_void> {
    let all = [&found::pthread_mutex_lock, &found::pthread_mutex_unlock, &found::mtx_lock, &found::mtx_unlock];
    all.into_iter().map(|place| place.load(Relaxed).cast()).filter(|address| *address != missing as *mut c_void)
}

/// The C library's word that says whether there is one thread; older ones have none.
static SINGLE_THREADED: AtomicPtr<u8> = AtomicPtr::new((&raw const MANY).cast_mut());
static MANY: u8 = 0;

/// Whether the C library knows of one thread only.
#[inline(always)]
pub fn is_single_threaded() -> bool {
    // SAFETY: it points to a static of ours or of the C library.
    unsafe { SINGLE_THREADED.load(Relaxed).read_volatile() != 0 }
}

/// For what the C library is too old to have, and so no program that runs with it calls.
extern "C" fn missing() -> c_int {
    ENOSYS
}
