//! Hints: which CPU this is, how many there are, and roughly what time it is. Nothing that must be right depends on
//! them.

/// The CPU that this thread runs on, plus one, modulo 256; 0 if unknown.
#[inline]
pub(crate) fn cpu_hint() -> u32 {
    #[cfg(not(loom))]
    {
        // SAFETY: the call takes nothing and returns a number, or -1.
        let cpu = unsafe { libc::sched_getcpu() };
        (cpu + 1).cast_unsigned() & 0xff
    }
    #[cfg(loom)]
    0
}

/// Time in units of about 10 µs (8 to 16 with the clock rates of today's machines).
///
/// The CPU's own counter where it can be read in a few nanoseconds, because this is asked in an unlock.
#[inline]
pub(crate) fn coarse_now() -> u32 {
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    {
        // SAFETY: every x86-64 CPU has the instruction, and Linux lets user space use it.
        let cycles = unsafe { core::arch::x86_64::_rdtsc() };
        (cycles >> 15) as u32
    }
    #[cfg(all(not(target_arch = "x86_64"), not(loom)))]
    {
        use rustix::time::{ClockId, clock_gettime};
        let now = clock_gettime(ClockId::Monotonic);
        ((now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64) >> 13) as u32
    }
    #[cfg(loom)]
    0
}
