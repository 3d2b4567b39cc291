//! The functions that are replaced, as the next object in line has them: the C library, or another that is in the way
//! as this one is. They are found all at once, by the first call; what is not there is [`missing`].

use crate::c::{self, ENOSYS, ObjectOf, RTLD_NEXT, Timespec, dladdr, dlsym, dlvsym};
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::ptr::null;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

type Time = *const Timespec;
type Object = *mut c_void;

macro_rules! next {
    ($($name:ident($($letter:ident: $argument:ty),*);)*) => {
        /// The address of each; at first that of what finds them all and then calls the one that was meant.
        #[allow(non_upper_case_globals)]
        mod found {
            use core::sync::atomic::AtomicPtr;

            $(pub static $name: AtomicPtr<()> = AtomicPtr::new(super::first::$name as *mut ());)*
        }

        mod first {
            use super::*;

            $(pub unsafe extern "C" fn $name($($letter: $argument),*) -> c_int {
                c::keeping_errno(super::find_all);
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

next! {
    pthread_mutex_init(a: Object, b: Object);
    pthread_mutex_lock(a: Object);
    pthread_mutex_trylock(a: Object);
    pthread_mutex_timedlock(a: Object, b: Time);
    pthread_mutex_clocklock(a: Object, b: c_int, c: Time);
    pthread_mutex_unlock(a: Object);
    pthread_mutex_destroy(a: Object);
    pthread_rwlock_init(a: Object, b: Object);
    pthread_rwlock_rdlock(a: Object);
    pthread_rwlock_tryrdlock(a: Object);
    pthread_rwlock_timedrdlock(a: Object, b: Time);
    pthread_rwlock_clockrdlock(a: Object, b: c_int, c: Time);
    pthread_rwlock_wrlock(a: Object);
    pthread_rwlock_trywrlock(a: Object);
    pthread_rwlock_timedwrlock(a: Object, b: Time);
    pthread_rwlock_clockwrlock(a: Object, b: c_int, c: Time);
    pthread_rwlock_unlock(a: Object);
    pthread_spin_init(a: Object, b: c_int);
    pthread_spin_lock(a: Object);
    pthread_spin_trylock(a: Object);
    pthread_spin_unlock(a: Object);
    pthread_cond_init(a: Object, b: *const c_uint);
    pthread_cond_wait(a: Object, b: Object);
    pthread_cond_timedwait(a: Object, b: Object, c: Time);
    pthread_cond_clockwait(a: Object, b: Object, c: c_int, d: Time);
    pthread_cond_signal(a: Object);
    pthread_cond_broadcast(a: Object);
    pthread_cond_destroy(a: Object);
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
fn object_of(address: *mut c_void) -> *const c_void {
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
}

/// For what the C library is too old to have, and so no program that runs with it calls.
extern "C" fn missing() -> c_int {
    ENOSYS
}

/// Stands for what the C library may not have a symbol for, of which a lock needs nothing: see the build script.
#[cfg(preload)]
#[unsafe(no_mangle)]
pub extern "C" fn ulocks_no_file() -> c_int {
    // SAFETY: the C library has such a word for every thread.
    unsafe { *c::__errno_location() = ENOSYS };
    -1
}
