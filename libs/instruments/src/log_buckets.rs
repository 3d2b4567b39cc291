//! Log-linear buckets: `1 << BITS` buckets of equal width per octave, so that a bucket's width is at most that part
//! of its values.
//!
//! Values below `2 << BITS` have a bucket each. This module contains only the arithmetic. The caller keeps the
//! counts, in a [`Tally`](crate::tally::Tally) of bucket numbers or in an array. It uses `core` only, since the
//! `interpose` library compiles this file too.

/// Returns the bucket of `value`; buckets are numbered contiguously from 0.
#[inline(always)]
pub const fn index<const BITS: u32>(value: u64) -> usize {
    if value < 2 << BITS {
        return value as usize;
    }
    let shift = u64::BITS - 1 - value.leading_zeros() - BITS;
    ((shift as usize) << BITS) + (value >> shift) as usize
}

/// Returns the least value of a bucket, and the least of the next (`u64::MAX` after the last).
pub const fn bounds<const BITS: u32>(bucket: usize) -> (u64, u64) {
    let (shift, least) = position::<BITS>(bucket);
    (least, least.saturating_add(1 << shift))
}

/// Returns the middle of a bucket, rounded up if its width is even.
pub const fn middle<const BITS: u32>(bucket: usize) -> u64 {
    let (shift, least) = position::<BITS>(bucket);
    least + (1 << shift) / 2
}

/// Returns the binary logarithm of a bucket's width, and its least value.
const fn position<const BITS: u32>(bucket: usize) -> (u32, u64) {
    let shift = (bucket >> BITS).saturating_sub(1);
    (shift as u32, ((bucket - (shift << BITS)) as u64) << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values_lie_within_their_buckets<const BITS: u32>() {
        let values = (0..60).flat_map(|power| [0, 1, 3].map(|more| (1_u64 << power) + (more << power) / 5));
        for value in values.chain([0, u64::MAX - 1]) {
            let (from, to) = bounds::<BITS>(index::<BITS>(value));
            let middle = middle::<BITS>(index::<BITS>(value));
            assert!(from <= value && value < to, "{value} in {from}..{to}");
            assert!(from <= middle && middle < to, "{middle} in {from}..{to}");
            assert!(to - from <= (from >> BITS).max(1), "{from}..{to}");
        }
    }

    #[test]
    fn a_value_lies_within_its_bucket_which_is_narrow() {
        values_lie_within_their_buckets::<3>();
        values_lie_within_their_buckets::<5>();
        values_lie_within_their_buckets::<10>();
    }

    #[test]
    fn buckets_rise_without_a_gap() {
        let buckets: Vec<usize> = (0..100_000).map(index::<5>).collect();
        assert!(buckets.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
    }
}
