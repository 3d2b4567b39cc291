//! How long a cycle is: a chain of dependent additions.

use super::runs::{RUNS, runs};
use crate::clock::Clock;

const ADDITIONS_A_PASS: u64 = 32;

/// The best of 100 chains of some 30 µs each.
pub fn cycle_ns(clock: Clock, clock_cost_ns: f64) -> Option<f64> {
    const PASSES: u64 = 4_000;
    add_in_a_row(1)?;
    let best = runs(clock, RUNS, || {
        add_in_a_row(PASSES);
    })[0];
    Some((best - clock_cost_ns) / (PASSES * ADDITIONS_A_PASS) as f64)
}

/// Dependent additions of one register to another: one cycle each on every core of the last twenty years. Immediates
/// would not do: some cores fold those while they rename registers.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(never)]
fn add_in_a_row(passes: u64) -> Option<u64> {
    macro_rules! eight {
        ($add:literal) => {
            concat!($add, "\n", $add, "\n", $add, "\n", $add, "\n", $add, "\n", $add, "\n", $add, "\n", $add)
        };
    }
    let step = std::hint::black_box(3_u64);
    let mut sum = 0_u64;
    for _ in 0..passes {
        // SAFETY: the instructions change only `sum` and the flags.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            core::arch::asm!(
                eight!("add {sum}, {step}"), eight!("add {sum}, {step}"),
                eight!("add {sum}, {step}"), eight!("add {sum}, {step}"),
                sum = inout(reg) sum, step = in(reg) step, options(nomem, nostack)
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::asm!(
                eight!("add {sum}, {sum}, {step}"), eight!("add {sum}, {sum}, {step}"),
                eight!("add {sum}, {sum}, {step}"), eight!("add {sum}, {sum}, {step}"),
                sum = inout(reg) sum, step = in(reg) step, options(nomem, nostack)
            );
        }
    }
    Some(std::hint::black_box(sum))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn add_in_a_row(_passes: u64) -> Option<u64> {
    None
}
