//! The next thread in the ring.
use std::hint::cold_path;

/// Returns the thread after this one. The end of the ring is a predicted branch, so a hop does not wait for the
/// number of threads to be loaded.
#[inline(always)]
pub fn after(index: usize, threads: usize) -> usize {
    if index + 1 == threads {
        cold_path();
        return 0;
    }
    index + 1
}

/// Returns the thread before this one.
#[inline(always)]
pub fn before(index: usize, threads: usize) -> usize {
    if index == 0 {
        cold_path();
        return threads - 1;
    }
    index - 1
}
