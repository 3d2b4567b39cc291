//! `prctl`, of which one call is noticed: a program that forbids itself the CPU's counter would die of a lock that reads
//! the time from it.

use crate::c::{self, PR_SET_TSC, PR_TSC_SIGSEGV};
use core::ffi::{c_int, c_ulong};

/// Passes the call on to the kernel, as the C library's function does. That one is variadic; where its arguments are
/// passed is the same.
#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
    if option == PR_SET_TSC && a == PR_TSC_SIGSEGV as c_ulong {
        crate::cpu::counter::forbid();
        c::forbid_counter();
    }
    // SAFETY: the arguments are passed on as the program gave them.
    unsafe { c::syscall(c::SYS_prctl, c_ulong::from(option.cast_unsigned()), a, b, c, d) as c_int }
}
