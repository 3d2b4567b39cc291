//! Calls that change what the kernel permits the program, or what it costs: passed on, and the library changes with
//! them.
//!
//! - A program that forbids itself system calls (seccomp) is ended by one that the library makes. From then on it makes
//!   none: [`local::confine`].
//! - `mlockall` would fill the whole memory that is recorded into, of which a program touches a few pages. So its own
//!   mappings are locked one by one, except for that memory.
//!
//! `syscall` is replaced for these calls alone. Programs that make them in another way are not seen.

use crate::preload::external::{keeping_errno, pthread_key_create};
use crate::preload::{local, next};
use crate::shared::kernel::{AT_FDCWD, File, MLOCK2, MLOCKALL, MUNLOCK, PRLIMIT, call};
use crate::shared::next_object::{__errno_location, object_of};
use core::ffi::{c_int, c_long, c_void};

const PR_SET_SECCOMP: usize = 22;
const SECCOMP_SET_MODE_FILTER: usize = 1;

/// The numbers of `seccomp`, `prctl` and `mlockall`, for the assembler.
#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const SECCOMP: i32 = 317;
    pub const PRCTL: i32 = 157;
}
#[cfg(not(target_arch = "x86_64"))]
mod numbers {
    pub const SECCOMP: i32 = 277;
    pub const PRCTL: i32 = 167;
}
use numbers::{PRCTL, SECCOMP};

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    let code = unsafe { next::prctl()(option, a, b, c, d) };
    if option as usize == PR_SET_SECCOMP && code == 0 {
        local::confine();
    }
    code
}

/// Makes a system call as the C library's function does; those that concern this library go on to [`noticed`].
#[unsafe(naked)]
#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn syscall() {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "endbr64",
        "cmp edi, {seccomp}",
        "je 2f",
        "cmp edi, {prctl}",
        "je 2f",
        "cmp edi, {mlockall}",
        "je 2f",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 3f",
        "ret",
        "2:",
        "jmp {noticed}",
        "3:",
        "mov rdi, rax",
        "jmp {result}",
        seccomp = const SECCOMP,
        prctl = const PRCTL,
        mlockall = const MLOCKALL,
        noticed = sym noticed,
        result = sym result
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "cmp w0, #{seccomp}",
        "b.eq 2f",
        "cmp w0, #{prctl}",
        "b.eq 2f",
        "cmp w0, #{mlockall}",
        "b.eq 2f",
        "mov x8, x0",
        "mov x0, x1",
        "mov x1, x2",
        "mov x2, x3",
        "mov x3, x4",
        "mov x4, x5",
        "mov x5, x6",
        "mov x6, x7",
        "svc 0",
        "cmn x0, #4095",
        "b.cs 3f",
        "ret",
        "2:",
        "b {noticed}",
        "3:",
        "b {result}",
        seccomp = const SECCOMP,
        prctl = const PRCTL,
        mlockall = const MLOCKALL,
        noticed = sym noticed,
        result = sym result
    );
}

/// Returns the result of a system call as the C library does.
extern "C" fn result(result: isize) -> c_long {
    if (-4095..0).contains(&result) {
        // SAFETY: the C library has such a word for every thread.
        unsafe { *__errno_location() = -result as c_int };
        return -1;
    }
    result as c_long
}

extern "C" fn noticed(number: c_int, a: usize, b: usize, c: usize, d: usize, e: usize) -> c_long {
    match number {
        // Another preloaded library may make its own `prctl` by this function.
        PRCTL => {
            // SAFETY: the arguments are passed on as the program gave them.
            let code = unsafe { call(c_long::from(number), [a, b, c, d, e]) };
            if a == PR_SET_SECCOMP && code == 0 {
                local::confine();
            }
            result(code)
        }
        SECCOMP => {
            // SAFETY: the arguments are passed on as the program gave them.
            let code = unsafe { call(c_long::from(number), [a, b, c, d]) };
            if a <= SECCOMP_SET_MODE_FILTER && code >= 0 {
                local::confine();
            }
            result(code)
        }
        _ => mlockall(a as c_int).into(),
    }
}

const MCL_CURRENT: c_int = 1;
const MCL_FUTURE: c_int = 2;
const MCL_ONFAULT: c_int = 4;
const ENOMEM: c_int = 12;
/// The unit of the kernel's sizes of memory here; on AArch64, larger ones are possible, and then less is permitted.
const PAGE: usize = 4096;

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn mlockall(flags: c_int) -> c_int {
    // SAFETY: the call takes no pointers.
    let real = |flags| unsafe { next::mlockall()(flags) };
    let memory = local::memory();
    let is_ordinary = (MCL_CURRENT..8).contains(&flags) && flags & MCL_CURRENT != 0;
    // A sanitizer, whose own memory must not be locked, lets the call do nothing.
    let is_c_librarys = || object_of(next::mlockall() as *mut c_void) == object_of(pthread_key_create as *mut c_void);
    if memory.is_empty() || !is_ordinary || local::is_confined() || !keeping_errno(is_c_librarys) {
        return real(flags);
    }
    // SAFETY: the path ends with a NUL.
    let Some(mappings) = (unsafe { File::open(AT_FDCWD, c"/proc/self/maps".as_ptr()) }) else { return real(flags) };
    // All that is there is locked, and nothing is filled yet.
    let code = real(flags | MCL_ONFAULT);
    // SAFETY: the C library has such a word for every thread.
    let is_too_much = code != 0 && unsafe { *__errno_location() } == ENOMEM;
    if is_too_much && keeping_errno(|| fits(memory.len())) {
        // Without this library's memory, it is not too much. Later mappings:
        if flags & MCL_FUTURE != 0 {
            real(flags & !MCL_CURRENT);
        }
    } else if code != 0 {
        return code;
    } else {
        // SAFETY: unlocking keeps the memory as it is.
        unsafe { call(MUNLOCK, [memory.start, memory.len(), 0, 0]) };
        if flags & MCL_FUTURE != 0 {
            real(flags & !MCL_CURRENT);
        }
    }
    keeping_errno(|| lock_all(&mappings, memory.start, flags & MCL_ONFAULT != 0));
    0
}

/// Returns whether the limit of locked memory permits all mappings, without this number of bytes.
fn fits(without: usize) -> bool {
    const RLIMIT_MEMLOCK: usize = 8;
    let (mut limit, mut text) = ([0_u64; 2], [0; 32]);
    // SAFETY: the last pointer is to the two words that the kernel writes.
    let is_known = unsafe { call(PRLIMIT, [0, RLIMIT_MEMLOCK, 0, limit.as_mut_ptr().addr()]) } == 0;
    // SAFETY: the path ends with a NUL.
    let Some(file) = (unsafe { File::open(AT_FDCWD, c"/proc/self/statm".as_ptr()) }) else { return false };
    file.read(&mut text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let pages = digits.fold(0_u64, |pages, digit| pages * 10 + u64::from(digit - b'0'));
    is_known && (pages * PAGE as u64).saturating_sub(without as u64) <= limit[0]
}

/// Locks all mappings but the one that begins at an address. Those that cannot be are omitted, as `mlockall` does.
fn lock_all(mappings: &File, but: usize, is_on_fault: bool) {
    let (mut bytes, mut range, mut field) = ([0; 1024], [0_usize; 2], 0);
    loop {
        let Some(read) = usize::try_from(mappings.read(&mut bytes)).ok().filter(|read| *read > 0) else { return };
        for &byte in &bytes[..read] {
            match (byte, field) {
                (b'\n', _) => (range, field) = ([0; 2], 0),
                (b'-', 0) => field = 1,
                (b' ', 1) => {
                    field = 2;
                    let [start, end] = range;
                    if start != but {
                        // SAFETY: locking keeps the memory as it is.
                        unsafe { call(MLOCK2, [start, end.wrapping_sub(start), usize::from(is_on_fault), 0]) };
                    }
                }
                (digit, 0 | 1) => {
                    range[field] = range[field] << 4 | (digit as char).to_digit(16).unwrap_or(0) as usize;
                }
                _ => {}
            }
        }
    }
}
