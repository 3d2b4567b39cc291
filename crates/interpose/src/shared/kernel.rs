//! System calls without the C library: they leave `errno` alone and are not cancellation points, and a program that
//! replaces the C library's `syscall` does not see them.

use core::ffi::c_long;

/// The numbers of the calls.
#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const READ: i64 = 0;
    pub const CLOSE: i64 = 3;
    pub const FSTAT: i64 = 5;
    pub const PREAD: i64 = 17;
    pub const NANOSLEEP: i64 = 35;
    pub const GETPID: i64 = 39;
    pub const GETEUID: i64 = 107;
    pub const MUNLOCK: i64 = 150;
    pub const MLOCKALL: i64 = 151;
    pub const GETTID: i64 = 186;
    pub const OPENAT: i64 = 257;
    pub const PRLIMIT: i64 = 302;
    pub const MLOCK2: i64 = 325;
}
#[cfg(not(target_arch = "x86_64"))]
mod numbers {
    pub const READ: i64 = 63;
    pub const CLOSE: i64 = 57;
    pub const FSTAT: i64 = 80;
    pub const PREAD: i64 = 67;
    pub const NANOSLEEP: i64 = 101;
    pub const MUNLOCK: i64 = 229;
    pub const MLOCKALL: i64 = 230;
    pub const GETPID: i64 = 172;
    pub const GETEUID: i64 = 175;
    pub const GETTID: i64 = 178;
    pub const OPENAT: i64 = 56;
    pub const PRLIMIT: i64 = 261;
    pub const MLOCK2: i64 = 284;
}
pub use numbers::*;

/// Makes a system call; returns its result, or a negative error.
///
/// # Safety
/// The arguments are right for the call.
pub unsafe fn call<const COUNT: usize>(number: c_long, arguments: [usize; COUNT]) -> isize {
    const { assert!(COUNT <= 5) };
    let [a, b, c, d, e] = core::array::from_fn(|place| arguments.get(place).copied().unwrap_or(0));
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: by this function's contract; the kernel changes these registers only.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: by this function's contract; the kernel changes this register only.
    unsafe {
        core::arch::asm!(
            "svc 0",
            in("x8") number, inlateout("x0") a as isize => result, in("x1") b, in("x2") c, in("x3") d, in("x4") e,
            options(nostack)
        );
    }
    result
}

/// The directory of this process, for [`File::open`].
pub const AT_FDCWD: i32 = -100;

/// An open file.
pub struct File(usize);

impl File {
    /// Opens a file for reading.
    ///
    /// # Safety
    /// The path ends with a NUL.
    pub unsafe fn open(directory: i32, path: *const core::ffi::c_char) -> Option<Self> {
        // A path that leads to a pipe or a terminal by now neither blocks nor becomes the controlling terminal.
        const NOCTTY: usize = 0o400;
        const NONBLOCK: usize = 0o4000;
        const CLOEXEC: usize = 0o200_0000;
        // SAFETY: the path is one, by this function's contract.
        let file = unsafe { call(OPENAT, [directory as usize, path.addr(), NOCTTY | NONBLOCK | CLOEXEC, 0]) };
        usize::try_from(file).ok().map(Self)
    }

    /// Reads the next bytes; returns their number, or a negative number.
    pub fn read(&self, bytes: &mut [u8]) -> isize {
        // SAFETY: the buffer has the length that is passed.
        unsafe { self.read_to(bytes.as_mut_ptr(), bytes.len()) }
    }

    /// Reads the next bytes to this place.
    ///
    /// # Safety
    /// The place has room for them, and no other thread writes to it.
    pub unsafe fn read_to(&self, place: *mut u8, length: usize) -> isize {
        // SAFETY: by this function's contract.
        unsafe { call(READ, [self.0, place.addr(), length, 0]) }
    }

    pub fn number(&self) -> usize {
        self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's own.
        unsafe { call(CLOSE, [self.0, 0, 0, 0]) };
    }
}

/// Reads the bytes of an open file from a place on; returns those that there are.
pub fn read_at(file: usize, bytes: &mut [u8], from: u64) -> &[u8] {
    // SAFETY: the buffer has the length that is passed.
    let read = unsafe { call(PREAD, [file, bytes.as_mut_ptr().addr(), bytes.len(), from as usize]) };
    bytes.get(..usize::try_from(read).unwrap_or(0)).unwrap_or_default()
}

/// Returns the device and the number of an open file, by which it is known.
pub fn identity(file: usize) -> Option<[u64; 2]> {
    // The kernel's `struct stat` begins with the two, and is shorter.
    let mut words = [0_u64; 32];
    // SAFETY: the buffer is longer than what the kernel writes.
    let is_known = unsafe { call(FSTAT, [file, words.as_mut_ptr().addr(), 0, 0]) } == 0;
    is_known.then_some([words[0], words[1]])
}
