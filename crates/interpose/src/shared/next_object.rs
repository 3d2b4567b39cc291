//! Functions of the next object in line: the C library, or another preloaded library. The library of `exchange` is
//! compiled from this file, too.
//!
//! All functions are found at once, by the first call of one. The loader's way to find them neither allocates nor calls
//! a replaced function, as long as it finds them. A function that the C library lacks becomes [`missing`].

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{null, null_mut};

/// The error of a function that the C library lacks.
pub const ENOSYS: c_int = 38;
/// The handle of the objects behind this one.
pub const RTLD_NEXT: *mut c_void = -1_isize as *mut c_void;

/// The result of `dladdr`: `Dl_info`.
#[repr(C)]
struct ObjectOf {
    path: *const c_char,
    begins: *const c_void,
    symbol: *const c_char,
    at: *const c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, found: *mut ObjectOf) -> c_int;
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn __errno_location() -> *mut c_int;
}

/// Declares functions that are found in the next object. For each it makes a function of the same name, which returns
/// the address to call. It makes `find_functions`, too, which finds all of them; the caller has a `find_all` that calls
/// it.
macro_rules! next {
    ($($name:ident($($letter:ident: $argument:ty),*);)*) => {
        /// The address of each. At first, it is that of a function that finds all of them and then calls the one that
        /// was meant.
        #[allow(non_upper_case_globals)]
        pub mod found {
            use core::sync::atomic::AtomicPtr;

            $(pub static $name: AtomicPtr<()> = AtomicPtr::new(super::first::$name as *mut ());)*
        }

        mod first {
            use super::*;

            $(pub unsafe extern "C" fn $name($($letter: $argument),*) -> core::ffi::c_int {
                $crate::shared::next_object::keeping_errno(super::find_all);
                // SAFETY: the arguments are passed on as they came.
                unsafe { super::$name()($($letter),*) }
            })*
        }

        static ALL: &[(&core::ffi::CStr, &core::sync::atomic::AtomicPtr<()>)] = &[$((
            // The name ends with the NUL that is put there.
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
            &found::$name,
        )),*];

        $(/// The function of this name, as the program would have called it.
        #[inline(always)]
        pub fn $name() -> unsafe extern "C" fn($($argument),*) -> core::ffi::c_int {
            // SAFETY: the slot contains the address of the C function of this name, which has this type, of `first`,
            // which has it too, or of `missing`, which accepts any arguments.
            unsafe { core::mem::transmute(found::$name.load(core::sync::atomic::Ordering::Relaxed)) }
        })*

        fn find_functions() {
            for (name, slot) in ALL {
                let address = $crate::shared::next_object::find(name);
                let is_missing = address.is_null();
                let address = if is_missing { $crate::shared::next_object::missing as *mut () } else { address.cast() };
                slot.store(address, core::sync::atomic::Ordering::Relaxed);
            }
        }
    };
}
pub(crate) use next;

/// Functions that on x86-64 have an older form, with the version of the newer one. Before version 2.36 of the GNU C
/// library, its `dlsym` finds the oldest one.
#[cfg(target_arch = "x86_64")]
const TWICE: &[(&CStr, &CStr)] = &[
    (c"pthread_cond_init", c"GLIBC_2.3.2"),
    (c"pthread_cond_wait", c"GLIBC_2.3.2"),
    (c"pthread_cond_timedwait", c"GLIBC_2.3.2"),
    (c"pthread_cond_signal", c"GLIBC_2.3.2"),
    (c"pthread_cond_broadcast", c"GLIBC_2.3.2"),
    (c"pthread_cond_destroy", c"GLIBC_2.3.2"),
    (c"posix_spawn", c"GLIBC_2.15"),
    (c"posix_spawnp", c"GLIBC_2.15"),
];
#[cfg(not(target_arch = "x86_64"))]
const TWICE: &[(&CStr, &CStr)] = &[];

/// The version that condition variables have in every C library of this machine, where it is known.
#[cfg(target_arch = "x86_64")]
const TODAY: Option<&CStr> = Some(c"GLIBC_2.3.2");
#[cfg(target_arch = "aarch64")]
const TODAY: Option<&CStr> = Some(c"GLIBC_2.17");
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const TODAY: Option<&CStr> = None;

type WithVersion = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;

/// Returns the next function of this name and version. Musl has no such look-up: the library must be loaded there, too,
/// so it does not name it.
fn find_version(name: &CStr, version: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a NUL.
    let look_up = unsafe { dlsym(RTLD_NEXT, c"dlvsym".as_ptr()) };
    if look_up.is_null() {
        return null_mut();
    }
    // SAFETY: the function of this name has this type; the names end with a NUL.
    unsafe { core::mem::transmute::<*mut c_void, WithVersion>(look_up)(RTLD_NEXT, name.as_ptr(), version.as_ptr()) }
}

/// Finds the next function of this name. The loader allocates to report a name or a version that is missing, and an
/// allocator may be the caller, within its own lock. So no name or version is looked up that is not there.
///
/// A look-up with a version passes over libraries between this one and the C library, whose functions have no versions.
/// So the newer function is used only where the next one is the C library's, too.
pub fn find(name: &CStr) -> *mut c_void {
    // SAFETY: the names end with a NUL.
    let next = unsafe { dlsym(RTLD_NEXT, name.as_ptr()) };
    let Some((_, version)) = TWICE.iter().find(|(twice, _)| *twice == name) else { return next };
    let newer = find_version(name, version);
    if !newer.is_null() && object_of(newer) == object_of(next) { newer } else { next }
}

/// Returns a condition variable's function of the C library itself, past the preloaded libraries; null if it is not
/// found.
pub fn find_in_c_library(name: &CStr) -> *mut c_void {
    match TODAY {
        Some(version) => find_version(name, version),
        // SAFETY: the name ends with a NUL.
        None => unsafe { dlsym(RTLD_NEXT, name.as_ptr()) },
    }
}

/// Returns the beginning of the object that contains an address; null if none does.
pub fn object_of(address: *mut c_void) -> *const c_void {
    object(address).begins
}

/// Returns the loader's path of the object that contains an address; null if none does.
pub fn path_of_object(address: *mut c_void) -> *const c_char {
    object(address).path
}

fn object(address: *mut c_void) -> ObjectOf {
    let mut found = ObjectOf { path: null(), begins: null(), symbol: null(), at: null() };
    // SAFETY: `found` is a structure of the shape that the function fills.
    unsafe { dladdr(address, &raw mut found) };
    found
}

/// Stands for a function that the C library is too old to have, so that no program that runs with it calls it.
pub extern "C" fn missing() -> c_int {
    ENOSYS
}

/// Returns what the work returns, and leaves `errno` as it was: a replaced call sets it itself or leaves it alone.
pub fn keeping_errno<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the C library has such a word for every thread.
    let errno = unsafe { __errno_location() };
    // SAFETY: the word is this thread's, and lives as long as the thread.
    let before = unsafe { *errno };
    let result = work();
    // SAFETY: the word is this thread's, and lives as long as the thread.
    unsafe { *errno = before };
    result
}
