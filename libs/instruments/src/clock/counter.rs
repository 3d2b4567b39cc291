//! Reading the counter, and the decision whether it can be trusted.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The source of the ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Time stamp counter of x86-64 (`rdtsc`).
    Tsc,
    /// Virtual counter of aarch64 (`cntvct_el0`).
    Cntvct,
    /// `clock_gettime(CLOCK_MONOTONIC_RAW)`, in nanoseconds.
    ClockGettime,
}

impl Source {
    /// Returns the CPU's counter if it can be trusted, otherwise `clock_gettime` and the reason.
    pub fn choose() -> (Self, Option<String>) {
        match counter() {
            Ok(source) => (source, None),
            Err(reason) => (Self::ClockGettime, Some(reason)),
        }
    }

    /// Returns its name in the literature.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tsc => "TSC",
            Self::Cntvct => "CNTVCT",
            Self::ClockGettime => "clock_gettime(CLOCK_MONOTONIC_RAW)",
        }
    }

    #[inline(always)]
    pub(crate) fn read(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: rdtsc reads a register and accesses no memory; every x86-64 CPU has it.
            Self::Tsc => unsafe { core::arch::x86_64::_rdtsc() },
            #[cfg(target_arch = "aarch64")]
            Self::Cntvct => cntvct(),
            _ => monotonic_raw_ns(),
        }
    }

    /// Reads the counter after all earlier and before all later instructions.
    ///
    /// On x86-64 the leading fence makes earlier loads and locked instructions complete before the counter is read.
    /// The trailing one prevents later instructions from starting before the read has ended. Linux sets the MSR bit
    /// that makes `lfence` wait for dispatch on AMD as it does on Intel.
    ///
    /// On AArch64 a read of the counter may overtake earlier instructions. `isb` keeps it behind every branch, and so
    /// behind the loads on which those branches depend: the result of a lock operation, a flag.
    #[inline(always)]
    pub(crate) fn read_ordered(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: lfence and rdtsc access no memory; SSE2 is part of x86-64.
            Self::Tsc => unsafe {
                core::arch::x86_64::_mm_lfence();
                let ticks = core::arch::x86_64::_rdtsc();
                core::arch::x86_64::_mm_lfence();
                ticks
            },
            #[cfg(target_arch = "aarch64")]
            Self::Cntvct => {
                instruction_barrier();
                let ticks = cntvct();
                instruction_barrier();
                ticks
            }
            _ => {
                instruction_fence();
                let ns = monotonic_raw_ns();
                instruction_fence();
                ns
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn cntvct() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user space read cntvct_el0; the read accesses no memory.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn instruction_barrier() {
    // SAFETY: isb orders instructions and accesses no memory.
    unsafe { core::arch::asm!("isb", options(nostack)) };
}

/// Issues the fence that `read_ordered` needs around a clock that is not a single instruction.
#[inline(always)]
fn instruction_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: lfence accesses no memory; SSE2 is part of x86-64.
    unsafe {
        core::arch::x86_64::_mm_lfence();
    }
    #[cfg(target_arch = "aarch64")]
    instruction_barrier();
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Returns `CLOCK_MONOTONIC_RAW` in nanoseconds. It advances at the rate of the hardware, without NTP adjustment; perf events
/// can have their times on it.
///
/// ```
/// let before = instruments::clock::monotonic_raw_ns();
/// assert!(before <= instruments::clock::monotonic_raw_ns());
/// ```
pub fn monotonic_raw_ns() -> u64 {
    nanoseconds(ClockId::MonotonicRaw)
}

/// Returns the CPU time of the calling thread in nanoseconds.
///
/// ```
/// let before = instruments::clock::thread_cpu_ns();
/// std::thread::sleep(std::time::Duration::from_millis(1));
/// assert!(before <= instruments::clock::thread_cpu_ns());
/// ```
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
fn counter() -> Result<Source, String> {
    const POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT_TSC: u32 = 1 << 8;
    let leaf = core::arch::x86_64::__cpuid;
    let invariant = leaf(0x8000_0000).eax >= POWER_MANAGEMENT && leaf(POWER_MANAGEMENT).edx & INVARIANT_TSC != 0;
    let available = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/available_clocksource").ok();
    trust(invariant, available.as_deref())
}

/// Returns the TSC if it is invariant and available: the kernel compares it with another clock and removes it from
/// the list if they diverge.
#[cfg(target_arch = "x86_64")]
fn trust(invariant: bool, available: Option<&str>) -> Result<Source, String> {
    match available {
        _ if !invariant => Err("the CPU does not promise a constant TSC rate (no invariant-TSC flag)".into()),
        Some(list) if !list.split_whitespace().any(|name| name == "tsc") => {
            Err(format!("the kernel does not trust the TSC (available clock sources: {})", list.trim()))
        }
        _ => Ok(Source::Tsc),
    }
}

/// Returns the virtual counter: the architecture guarantees a constant rate and one value for all CPUs.
#[cfg(target_arch = "aarch64")]
fn counter() -> Result<Source, String> {
    Ok(Source::Cntvct)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter() -> Result<Source, String> {
    Err(format!("no counter is known for {}", std::env::consts::ARCH))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_tsc_is_trusted_only_with_flag_and_kernel() {
        assert_eq!(trust(true, Some("kvm-clock tsc acpi_pm\n")), Ok(Source::Tsc));
        assert_eq!(trust(true, None), Ok(Source::Tsc));
        assert!(trust(false, Some("tsc")).unwrap_err().contains("invariant"));
        assert!(trust(true, Some("hpet acpi_pm\n")).unwrap_err().contains("hpet acpi_pm"));
    }
}
