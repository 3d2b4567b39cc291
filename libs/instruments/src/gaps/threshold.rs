//! What stands so much above the usual pass that it is a gap.

use crate::clock::{Clock, step};

/// Reads that the calibration looks at.
const READS: usize = 100_001;
/// What stands so much above the usual pass, in nanoseconds, is a gap: beyond the jitter of one read and what a
/// neighbour on the same core does to it, which makes crowds at 100 to 130, and far below the shortest interrupt.
const MARGIN_NS: f64 = 140.0;

/// In ticks, on the calling thread's CPU.
pub fn threshold(clock: Clock) -> u64 {
    let mut reads = vec![0; READS];
    reads.iter_mut().for_each(|slot| *slot = clock.now());
    usual(reads.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect()) + clock.to_ticks(MARGIN_NS)
}

/// What a pass usually takes, the median of many, and no less than the clock's step: a coarse one stands still for most
/// reads, and what it makes up for in the next is no gap.
fn usual(mut differences: Vec<u64>) -> u64 {
    let median = *differences.select_nth_unstable(READS / 2).1;
    median.max(step(&differences.into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_a_coarse_clock_is_no_gap() {
        let coarse = (0..READS).map(|read| if read % 30 == 0 { 62 } else { 0 });
        assert_eq!(usual(coarse.collect()), 62);
        assert_eq!(usual((0..READS as u64).map(|read| 25 + read % 2 * 25).collect()), 25);
    }
}
