//! Loops whose limit is known, in assembly: a compiler would join additions, and no two compilers alike.
//!
//! Each takes a number of rounds, at least one, touches no memory but what it is given, and keeps no result.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod lines;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::*;
pub use lines::Lines;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

/// Whether there are loops for this architecture.
pub const IS_KNOWN: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// What a round of [`latency`] takes alone on any core that we know, in cycles.
pub const LATENCY_CYCLES: f64 = 12.0;

/// Instructions in a round of [`width`], the last two of which x86-64 joins into one.
pub const WIDTH_INSTRUCTIONS: f64 = 17.0;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod unknown {
    //! [`super::IS_KNOWN`] says that these must not be called.
    use super::Lines;

    pub fn width(_: u32) {}
    pub fn latency(_: u32) {}
    pub fn no_ops(_: u32) {}
    pub fn multiplications(_: u32) {}
    pub fn loads(_: u32, _: &Lines) {}
    pub fn stores(_: u32, _: &mut Lines) {}
    pub fn store_to_load(_: u32, _: &mut Lines) {}
    pub fn branches(_: u32) {}
}
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use unknown::*;
