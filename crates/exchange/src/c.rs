//! Declarations of the C library and of the kernel, so that the library needs no crate.

#![allow(non_camel_case_types, non_upper_case_globals, missing_docs)]

/// The locks call these by the names that `libc` gives them.
#[cfg(preload)]
pub use crate::shared::next_object::{__errno_location, dlsym};
pub use crate::shared::next_object::{ENOSYS, keeping_errno};
use core::ffi::{c_char, c_void};
pub use core::ffi::{c_int, c_long};
#[cfg(target_arch = "x86_64")]
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Timespec {
    pub tv_sec: i64,
    pub tv_nsec: i64,
}

pub const EPERM: c_int = 1;
pub const EAGAIN: c_int = 11;
pub const EBUSY: c_int = 16;
pub const EINVAL: c_int = 22;
pub const EDEADLK: c_int = 35;
pub const ETIMEDOUT: c_int = 110;
pub const MINUS_EINTR: isize = -4;
pub const MINUS_EAGAIN: isize = -11;
pub const MINUS_ETIMEDOUT: isize = -110;

pub const CLOCK_REALTIME: c_int = 0;
pub const CLOCK_MONOTONIC: c_int = 1;

pub const RTLD_DEFAULT: *mut c_void = core::ptr::null_mut();

pub const O_RDWR: c_int = 2;
pub const O_CLOEXEC: c_int = 0o200_0000;
pub const PROT_READ: c_int = 1;
pub const PROT_WRITE: c_int = 2;
pub const MAP_SHARED: c_int = 1;
pub const MAP_PRIVATE: c_int = 2;
pub const MAP_ANONYMOUS: c_int = 0x20;
pub const MAP_FAILED: *mut c_void = -1_isize as *mut c_void;
pub const MADV_WIPEONFORK: c_int = 18;

pub const PTHREAD_CANCEL_ASYNCHRONOUS: c_int = 1;
pub const PTHREAD_PROCESS_SHARED: c_int = 1;

#[cfg(target_arch = "x86_64")]
pub const SYS_membarrier: c_long = 324;
#[cfg(not(target_arch = "x86_64"))]
pub const SYS_membarrier: c_long = 283;
#[cfg(target_arch = "x86_64")]
pub const SYS_getcpu: c_long = 309;
#[cfg(not(target_arch = "x86_64"))]
pub const SYS_getcpu: c_long = 168;
#[cfg(target_arch = "x86_64")]
pub const SYS_clock_gettime: c_long = 228;
#[cfg(target_arch = "x86_64")]
pub const SYS_prctl: c_long = 157;

pub const PR_GET_TSC: c_int = 25;
pub const PR_SET_TSC: c_int = 26;
pub const PR_TSC_ENABLE: c_int = 1;
pub const PR_TSC_SIGSEGV: c_int = 2;

/// An action that is undone if the thread is cancelled: the C library links these on the thread's stack.
#[repr(C)]
pub struct Cleanup {
    routine: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
    cancel_type: c_int,
    previous: *mut Cleanup,
}

impl Cleanup {
    pub const fn new() -> Self {
        Self { routine: None, argument: core::ptr::null_mut(), cancel_type: 0, previous: core::ptr::null_mut() }
    }
}

/// The loader's description of an object.
#[repr(C)]
pub struct ProgramHeaders {
    pub base: usize,
    name: *const c_char,
    headers: *const c_void,
    count: u16,
}

unsafe extern "C" {
    pub fn dl_iterate_phdr(
        visit: unsafe extern "C" fn(*const ProgramHeaders, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    pub fn getenv(name: *const c_char) -> *const c_char;
    pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub fn close(descriptor: c_int) -> c_int;
    pub fn write(descriptor: c_int, bytes: *const c_void, length: usize) -> isize;
    pub fn abort() -> !;
    pub fn mmap(start: *mut c_void, length: usize, prot: c_int, flags: c_int, file: c_int, at: i64) -> *mut c_void;
    pub fn munmap(start: *mut c_void, length: usize) -> c_int;
    pub fn madvise(start: *mut c_void, length: usize, advice: c_int) -> c_int;
    pub fn syscall(number: c_long, ...) -> c_long;
    pub fn prctl(option: c_int, ...) -> c_int;
    pub fn sched_getcpu() -> c_int;
    pub fn sched_yield() -> c_int;
    pub fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    pub fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
    pub fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int;
    pub fn pthread_testcancel();
    pub fn _pthread_cleanup_push(
        cleanup: *mut Cleanup,
        routine: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
    pub fn _pthread_cleanup_pop(cleanup: *mut Cleanup, execute: c_int);
}

/// Whether the time comes from the kernel, since a thread has disabled the CPU's counter for itself.
#[cfg(target_arch = "x86_64")]
static IS_COUNTER_FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Lets [`now`] work without the CPU's counter from now on.
#[cfg(target_arch = "x86_64")]
pub fn forbid_counter() {
    IS_COUNTER_FORBIDDEN.store(true, Relaxed);
}

/// Returns the time of this clock.
pub fn now(clock: c_int) -> Timespec {
    let mut time = Timespec { tv_sec: 0, tv_nsec: 0 };
    // The C library's function reads the CPU's counter, which a program can disable.
    #[cfg(target_arch = "x86_64")]
    if IS_COUNTER_FORBIDDEN.load(Relaxed) {
        // SAFETY: the kernel writes a time to `time`, which outlives the call.
        unsafe { syscall(SYS_clock_gettime, clock, &raw mut time) };
        return time;
    }
    // SAFETY: the function writes a time to `time`, which outlives the call.
    unsafe { clock_gettime(clock, &raw mut time) };
    time
}

/// Calls the kernel; returns an error as a negative number and does not change `errno`.
///
/// # Safety
/// The kernel's requirements for the operation in the second argument.
#[inline(always)]
pub unsafe fn futex(arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel changes only these registers, and the memory that the caller allowed.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") 202_isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the kernel changes only `x0`, and the memory that the caller allowed.
    unsafe {
        core::arch::asm!(
            "svc 0",
            in("x8") 98,
            inlateout("x0") a => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack)
        );
    }
    result
}

/// Prints the text on stderr.
pub fn print(text: &str) {
    // SAFETY: the length is that of the text.
    keeping_errno(|| unsafe { write(2, text.as_ptr().cast(), text.len()) });
}

/// Prints the reason and ends the program.
pub fn die(why: &str) -> ! {
    print(why);
    // SAFETY: the function takes no argument and does not return.
    unsafe { abort() }
}

/// The items that one file of the locks requires where there is no cheap counter.
#[cfg(not(target_arch = "x86_64"))]
pub mod time {
    pub enum ClockId {
        Monotonic,
    }

    pub fn clock_gettime(_: ClockId) -> super::Timespec {
        super::now(super::CLOCK_MONOTONIC)
    }
}
