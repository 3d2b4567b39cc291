//! Buckets of times: eight per doubling, so that the middle of one is within 6 % of all times in it.
//!
//! The arithmetic is that of `instruments`, compiled in by its path, since this library depends on no crate of the
//! workspace. The storage is separate ([`Buckets`](crate::Buckets)): it is in memory that the watched program shares.

#[path = "../../../libs/instruments/src/log_buckets.rs"]
#[allow(dead_code, reason = "no middle is needed here")]
mod log_buckets;

/// The number of buckets; the last has all longer times.
pub const BUCKETS: usize = 320;

/// Eight buckets an octave.
const BITS: u32 = 3;

/// Returns the bucket of this number of ticks.
#[inline]
pub fn bucket(ticks: u64) -> usize {
    log_buckets::index::<BITS>(ticks).min(BUCKETS - 1)
}

/// Returns the least ticks in a bucket, and the least in the next.
pub fn bounds(bucket: usize) -> (u64, u64) {
    log_buckets::bounds::<BITS>(bucket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bucket_has_all_that_is_longer() {
        let (from, _) = bounds(BUCKETS - 1);
        assert_eq!((bucket(from - 1), bucket(from), bucket(u64::MAX)), (BUCKETS - 2, BUCKETS - 1, BUCKETS - 1));
    }
}
