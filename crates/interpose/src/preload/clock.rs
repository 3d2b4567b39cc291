//! Ticks.

use super::external::{CLOCK_MONOTONIC_RAW, Timespec, clock_gettime};
use super::local;

/// Returns the current ticks. The counter is read without a fence: its value exceeds what can be reordered around it.
#[inline(always)]
pub fn now() -> u64 {
    if local::reads_counter() { counter() } else { raw() }
}

#[inline(always)]
fn counter() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: rdtsc reads a register and touches no memory; every x86-64 CPU has it.
    let ticks = unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(target_arch = "aarch64")]
    let ticks = {
        let ticks: u64;
        // SAFETY: Linux lets user space read cntvct_el0; the read touches no memory.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    };
    ticks
}

/// Returns nanoseconds, whatever ticks are: for rare uses.
pub fn now_ns() -> u64 {
    raw()
}

#[cold]
fn raw() -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the pointer is to a whole timespec.
    unsafe { clock_gettime(CLOCK_MONOTONIC_RAW, &raw mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}
