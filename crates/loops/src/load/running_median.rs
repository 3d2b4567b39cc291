//! A median that is followed as values come, in one word of memory.

/// One step towards the median: as many values lie above it as below when it comes to rest. A value that is twice as
/// long, because something interrupted the grind, moves it no further than one that is a nanosecond longer.
pub fn follow_median(median: u64, value: u64) -> u64 {
    match value.cmp(&median) {
        std::cmp::Ordering::Greater => median + (median >> STEP).max(1),
        std::cmp::Ordering::Less => median - (median >> STEP).max(1),
        std::cmp::Ordering::Equal => median,
    }
}

/// A step is 1/8,192 of the median: a core that changes its speed by a tenth is followed within 20 ms, and grinds that
/// are interrupted, which are few, shift it by less than is printed.
const STEP: u32 = 13;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_followed_and_outliers_do_not_count() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut median = 55_000;
        for speed in [60_000_u64, 50_000] {
            for _ in 0..5_000 {
                let interrupted = rng.u32(..100) < 5;
                let value = speed + rng.u64(..40) + if interrupted { 30_000 } else { 0 };
                median = follow_median(median, value);
            }
            let away = median.abs_diff(speed + 21);
            assert!(away < speed / 1_000, "{median} is not the median of about {speed}");
        }
    }
}
