//! Hints for spinning: the number of the current CPU and a coarse time. Correctness does not depend on them.

/// Returns the number of the current CPU plus one, modulo 256; 0 if unknown.
#[inline]
pub(crate) fn cpu_hint() -> u32 {
    #[cfg(not(loom))]
    {
        if cfg!(miri) {
            return 0;
        }
        let cpu = crate::restartable::current_cpu().filter(|cpu| cpu.cast_signed() >= 0).unwrap_or_else(|| {
            // SAFETY: `sched_getcpu` takes no argument and returns a number, or -1.
            unsafe { libc::sched_getcpu() }.cast_unsigned()
        });
        cpu.wrapping_add(1) & 0xff
    }
    #[cfg(loom)]
    0
}

/// Returns the time in units of about 10 µs: 1,024 of those of [`fine_now`].
#[inline]
pub(crate) fn coarse_now() -> u32 {
    (fine_now() >> 10) as u32
}

/// Returns the time in units of about 10 ns (8 to 16 ns with the clock rates of today's machines).
///
/// It reads the CPU's own counter where that takes a few nanoseconds, because an unlock calls this function.
#[inline]
pub(crate) fn fine_now() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
    {
        if counter::is_forbidden() {
            return counter::from_the_kernel();
        }
        // SAFETY: every x86-64 CPU has the instruction. It faults only in a thread that has called
        // `prctl(PR_SET_TSC, PR_TSC_SIGSEGV)`. For a process that began with that ban, `is_forbidden` returned true.
        // The documentation of the crate forbids the call to all other programs.
        let cycles = unsafe { core::arch::x86_64::_rdtsc() };
        cycles >> 5
    }
    #[cfg(all(any(not(target_arch = "x86_64"), miri), not(loom)))]
    {
        use rustix::time::{ClockId, clock_gettime};
        let now = clock_gettime(ClockId::Monotonic);
        (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64) >> 3
    }
    #[cfg(loom)]
    0
}

/// Whether the counter may be read. A thread can forbid it to itself and to the threads that it creates.
#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
pub(crate) mod counter {
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

    static IS_FORBIDDEN: AtomicBool = AtomicBool::new(false);

    #[used]
    #[unsafe(link_section = ".init_array")]
    static AT_LOAD: extern "C" fn() = at_load;

    extern "C" fn at_load() {
        check_forbidden();
    }

    /// Checks and returns whether this thread must not read the counter. A program inherits the ban from its parent.
    pub(crate) fn check_forbidden() -> bool {
        let mut state: libc::c_int = libc::PR_TSC_ENABLE;
        // SAFETY: the call writes one integer to `state`, which outlives the call.
        let result = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut state) };
        if result == 0 && state == libc::PR_TSC_SIGSEGV {
            forbid();
        }
        is_forbidden()
    }

    /// Makes this process take the time from the kernel from now on.
    pub(crate) fn forbid() {
        IS_FORBIDDEN.store(true, Relaxed);
    }

    #[inline]
    pub(crate) fn is_forbidden() -> bool {
        IS_FORBIDDEN.load(Relaxed)
    }

    /// Returns the time from the system call: `clock_gettime` of the C library reads the counter too.
    #[cold]
    pub(super) fn from_the_kernel() -> u64 {
        let mut now = [0_i64; 2];
        // SAFETY: the call writes a `timespec`, which is two 64-bit words here, to `now`, which outlives the call.
        unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, now.as_mut_ptr()) };
        (now[0] as u64 * 1_000_000_000 + now[1] as u64) >> 3
    }
}
