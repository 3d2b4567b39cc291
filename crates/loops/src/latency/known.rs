//! A lock that takes a known time: a chain of multiplications, each of which waits for the one before it.
//!
//! What one of them takes is known from a chain that is as long as a measurement, without a timestamp in it. So it is
//! known what the rounds are to read, and that is not zero, as it is without a lock.

use locks::Lock;
use std::io;

/// As many as take about as long as a fast lock.
const MULTIPLICATIONS: usize = 16;

/// Multiplies for so long, and excludes nobody.
pub struct KnownTime;

impl Lock for KnownTime {
    type Guard<'a> = ();

    fn create() -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn lock(&self) {
        multiply(3);
    }
}

/// The compiler knows neither what comes out of it nor that it could be left out.
#[inline(always)]
pub fn multiply(mut number: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a register is multiplied, and nothing else is touched but the flags.
    unsafe {
        std::arch::asm!(".rept {times}", "imul {0}, {0}", ".endr", inout(reg) number, times = const MULTIPLICATIONS,
                        options(nomem, nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a register is multiplied, and nothing else is touched.
    unsafe {
        std::arch::asm!(".rept {times}", "mul {0}, {0}, {0}", ".endr", inout(reg) number, times = const MULTIPLICATIONS,
                        options(nomem, nostack));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    for _ in 0..MULTIPLICATIONS {
        number = std::hint::black_box(number.wrapping_mul(number));
    }
    number
}
