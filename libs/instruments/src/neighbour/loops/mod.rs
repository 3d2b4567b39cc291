//! Loops with a known bottleneck, in assembly: a compiler would merge additions, and no two compilers do that
//! equally.
//!
//! Each takes a number of iterations, at least one, accesses only the memory that it is given, and returns no result.

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

/// Duration of an iteration of [`latency`] on an exclusive core, in cycles, on all known cores.
pub const LATENCY_CYCLES: f64 = 12.0;

/// Number of instructions in an iteration of [`width`], the last two of which x86-64 fuses into one.
pub const WIDTH_INSTRUCTIONS: f64 = 17.0;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod unknown {
    //! Replacements for unknown architectures: because of [`super::IS_KNOWN`], they are never called.
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
