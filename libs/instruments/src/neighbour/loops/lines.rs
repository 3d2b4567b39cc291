//! Memory for the loops that load and store.

/// A cache line for each of eight loads.
#[repr(C, align(64))]
pub struct Lines(pub [u64; 64]);
