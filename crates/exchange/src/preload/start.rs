//! Work at the start of the program that would cost more later, or come at a bad moment.
//!
//! The C library's functions are looked up here, and the targets of calls: later the loader may be at work, and wait
//! for the owner of a substituted lock. Locks acquired before this constructor look them up at their first use. The
//! files of the locks have separate constructors, which register restartable sequences and fork handlers.
//!
//! Also `prctl`, of which one call is noticed: a program that disables the CPU's counter for itself would be killed by
//! a lock that reads the time from it.

use super::mutex::lead;
use super::{cond, locks, next};
use crate::c;
use crate::shared::exec;
#[cfg(target_arch = "x86_64")]
use core::ffi::{c_int, c_ulong};

#[cfg_attr(preload, used, unsafe(link_section = ".init_array"))]
static AT_START: extern "C" fn() = at_start;

extern "C" fn at_start() {
    c::keeping_errno(exec::prepare);
    // Without a substituted lock this finds all.
    c::keeping_errno(lead);
    #[cfg(target_arch = "x86_64")]
    if c::keeping_errno(crate::cpu::counter::check_forbidden) {
        c::forbid_counter();
    }
    if locks::any() {
        c::keeping_errno(next::find_all);
        cond::find();
    }
}

/// Passes the call on to the kernel, as the C library's function does.
///
/// That one is variadic; its arguments are passed in the same places.
#[cfg(target_arch = "x86_64")]
#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
    if option == c::PR_SET_TSC && a == c::PR_TSC_SIGSEGV as c_ulong {
        crate::cpu::counter::forbid();
        c::forbid_counter();
    }
    // SAFETY: the arguments are passed on as the program gave them.
    unsafe { c::syscall(c::SYS_prctl, c_ulong::from(option.cast_unsigned()), a, b, c, d) as c_int }
}
