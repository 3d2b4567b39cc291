//! The parts of the C library that are used, declared here so that no crate is needed.

use crate::shared::kernel::{self, File};
pub use crate::shared::next_object::keeping_errno;
use core::ffi::{c_char, c_int, c_long, c_uint, c_void};

/// The `timespec` of `<time.h>` on 64-bit machines.
#[repr(C)]
pub struct Timespec {
    pub seconds: c_long,
    pub nanoseconds: c_long,
}

pub const EBUSY: c_int = 16;
pub const ETIMEDOUT: c_int = 110;
pub const EOWNERDEAD: c_int = 130;

pub const O_RDWR: c_int = 2;
pub const O_CLOEXEC: c_int = 0o200_0000;

pub const PROT_NONE: c_int = 0;
pub const PROT_READ: c_int = 1;
pub const PROT_WRITE: c_int = 2;
pub const MAP_SHARED: c_int = 1;
pub const MAP_NORESERVE: c_int = 0x4000;
pub const MAP_FAILED: *mut c_void = -1_isize as *mut c_void;
pub const MADV_DONTDUMP: c_int = 16;
pub const MADV_WIPEONFORK: c_int = 18;

pub const CLOCK_MONOTONIC_RAW: c_int = 4;

unsafe extern "C" {
    pub fn abort() -> !;
    pub fn dlerror() -> *const c_char;
    pub fn getenv(name: *const c_char) -> *const c_char;
    pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub fn close(descriptor: c_int) -> c_int;
    pub fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        descriptor: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int;
    pub fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    pub fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    pub fn pthread_key_create(key: *mut c_uint, destructor: Option<unsafe extern "C" fn(*mut c_void)>) -> c_int;
    pub fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
    pub fn pthread_self() -> *mut c_void;
    pub fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
    pub fn sem_getvalue(semaphore: *mut c_void, value: *mut c_int) -> c_int;
}

/// Returns whether a lock's function says that the caller has it: a robust one may report that its holder died.
pub fn has_it(code: c_int) -> bool {
    code == 0 || code == EOWNERDEAD
}

/// Sleeps for this time. A signal may end the sleep early.
pub fn sleep(nanoseconds: u64) {
    let (seconds, nanoseconds) = ((nanoseconds / 1_000_000_000) as c_long, (nanoseconds % 1_000_000_000) as c_long);
    let time = Timespec { seconds, nanoseconds };
    // SAFETY: the first pointer is to a whole timespec, and the second may be null.
    unsafe { kernel::call(kernel::NANOSLEEP, [(&raw const time).addr(), 0, 0, 0]) };
}

/// Opens a file for reading.
pub fn open_file(path: &core::ffi::CStr) -> Option<File> {
    // SAFETY: the path ends with a NUL.
    unsafe { File::open(kernel::AT_FDCWD, path.as_ptr()) }
}
