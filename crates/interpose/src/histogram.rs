//! Buckets of times: eight to a doubling, so that the middle of one is within 6 % of all that is in it.

/// How many there are; the last has all that is longer.
pub const BUCKETS: usize = 320;

const STEPS: u32 = 3;

/// The bucket of this many ticks.
#[inline]
pub fn bucket(ticks: u64) -> usize {
    if ticks < 1 << STEPS {
        return ticks as usize;
    }
    let octave = 63 - ticks.leading_zeros();
    let step = (ticks >> (octave - STEPS)) as usize & ((1 << STEPS) - 1);
    ((((octave - STEPS + 1) as usize) << STEPS) + step).min(BUCKETS - 1)
}

/// The least ticks in a bucket, and the least in the next.
pub fn bounds(bucket: usize) -> (u64, u64) {
    (least(bucket), least(bucket + 1))
}

fn least(bucket: usize) -> u64 {
    let (octave, step) = (bucket >> STEPS, (bucket & ((1 << STEPS) - 1)) as u64);
    if octave == 0 { step } else { ((1 << STEPS) + step) << (octave - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_within_its_bucket_which_is_narrow() {
        let values = (0..42).flat_map(|power| [0, 1, 3].map(|more| (1_u64 << power) + (more << power) / 5));
        for value in values {
            let (from, to) = bounds(bucket(value));
            assert!(from <= value && value < to, "{value} in {from}..{to}");
            assert!((to - from) as f64 <= 1.0_f64.max(from as f64 / 8.0), "{from}..{to}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }
}
