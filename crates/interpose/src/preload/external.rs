//! The parts of the C library that are used, declared here so that no crate is needed.

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

pub const O_RDONLY: c_int = 0;
pub const O_RDWR: c_int = 2;
pub const O_CLOEXEC: c_int = 0o200_0000;

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
    pub fn getenv(name: *const c_char) -> *const c_char;
    pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub fn read(descriptor: c_int, buffer: *mut c_void, length: usize) -> isize;
    pub fn close(descriptor: c_int) -> c_int;
    pub fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        descriptor: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    pub fn getpid() -> c_int;
    pub fn syscall(number: c_long, ...) -> c_long;
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

/// Returns the kernel's number of the calling thread.
pub fn gettid() -> u32 {
    #[cfg(target_arch = "x86_64")]
    const GETTID: c_long = 186;
    #[cfg(not(target_arch = "x86_64"))]
    const GETTID: c_long = 178;
    // SAFETY: the call takes nothing.
    unsafe { syscall(GETTID) as u32 }
}

/// Sleeps for this time. A signal may end the sleep early. It is not the C library's function: that is a cancellation
/// point, which the call that it is used in need not be.
pub fn sleep(nanoseconds: u64) {
    #[cfg(target_arch = "x86_64")]
    const NANOSLEEP: c_long = 35;
    #[cfg(not(target_arch = "x86_64"))]
    const NANOSLEEP: c_long = 101;
    let (seconds, nanoseconds) = ((nanoseconds / 1_000_000_000) as c_long, (nanoseconds % 1_000_000_000) as c_long);
    let time = Timespec { seconds, nanoseconds };
    // SAFETY: the first pointer is to a whole timespec, and the second may be null.
    keeping_errno(|| unsafe { syscall(NANOSLEEP, &raw const time, core::ptr::null_mut::<Timespec>()) });
}

/// An open file. Like [`sleep`], its functions are not cancellation points.
pub struct Descriptor(c_long);

impl Descriptor {
    #[cfg(target_arch = "x86_64")]
    const NUMBERS: [c_long; 3] = [257, 0, 3];
    #[cfg(not(target_arch = "x86_64"))]
    const NUMBERS: [c_long; 3] = [56, 63, 57];

    /// Opens a file for reading.
    pub fn open(path: &core::ffi::CStr) -> Option<Self> {
        const AT_FDCWD: c_int = -100;
        let [openat, ..] = Self::NUMBERS;
        // SAFETY: the path ends with a NUL.
        let file = keeping_errno(|| unsafe { syscall(openat, AT_FDCWD, path.as_ptr(), O_RDONLY | O_CLOEXEC) });
        (file >= 0).then_some(Self(file))
    }

    /// Reads the next bytes; returns their number, or a negative number.
    pub fn read(&self, bytes: &mut [u8]) -> c_long {
        let [_, read, _] = Self::NUMBERS;
        // SAFETY: the buffer has the length that is passed, and the descriptor is ours.
        keeping_errno(|| unsafe { syscall(read, self.0, bytes.as_mut_ptr(), bytes.len()) })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        let [.., close] = Self::NUMBERS;
        // SAFETY: the descriptor is ours.
        keeping_errno(|| unsafe { syscall(close, self.0) });
    }
}
