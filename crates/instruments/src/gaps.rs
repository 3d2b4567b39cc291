//! Interruptions of a thread that only reads the clock.
//!
//! Between two neighbouring reads nothing of the thread's own happens, so a difference much larger than the usual one
//! is time in which it did not run. Such a gap is stored before the clock is read again, and the next difference is
//! taken from the value that ended the gap: the time spent on storing is itself watched.

use crate::clock::Clock;
use std::time::Duration;

/// One interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When it began, in ticks.
    pub start: u64,
    /// How long it lasted, in ticks.
    pub length: u64,
}

/// What a watch saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// The interruptions, oldest first.
    pub gaps: Vec<Gap>,
    /// The whole watch in ticks.
    pub span: u64,
    /// When it began, in ticks.
    pub start: u64,
    /// Passes of the loop.
    pub passes: u64,
    /// A difference above this many ticks counts as a gap.
    pub threshold: u64,
    /// The buffer for gaps was full before the time was up.
    pub full: bool,
}

impl Watch {
    /// The share of the watch that the gaps took, 0 to 1.
    pub fn lost_share(&self) -> f64 {
        self.gaps.iter().map(|gap| gap.length).sum::<u64>() as f64 / self.span.max(1) as f64
    }
}

const CAPACITY: usize = 1 << 20;
/// What stands above the usual pass, in nanoseconds, is a gap: well above the jitter of one read, well below the
/// shortest interrupt.
const MARGIN_NS: f64 = 150.0;

/// Watches the calling thread's CPU for `length`; pin the thread first.
pub fn watch(clock: Clock, length: Duration) -> Watch {
    let threshold = usual_pass(clock) + clock.to_ticks(MARGIN_NS);
    // Touched now, so that no page fault shows up as a gap.
    let mut gaps = vec![Gap { start: 1, length: 1 }; CAPACITY];
    let mut found = 0;
    let mut passes = 0;
    let start = clock.now();
    let end = start + clock.ticks_in(length);
    let mut last = start;
    while last < end && found < CAPACITY {
        let now = clock.now();
        if now.wrapping_sub(last) > threshold {
            gaps[found] = Gap { start: last, length: now - last };
            found += 1;
        }
        last = now;
        passes += 1;
    }
    gaps.truncate(found);
    Watch { gaps, span: last - start, start, passes, threshold, full: found == CAPACITY }
}

/// The median difference between neighbouring reads.
fn usual_pass(clock: Clock) -> u64 {
    let mut reads = vec![0; 20_001];
    reads.iter_mut().for_each(|slot| *slot = clock.now());
    let mut differences: Vec<u64> = reads.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    *differences.select_nth_unstable(10_000).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_lasts_as_long_as_asked_and_its_gaps_lie_in_it() {
        let clock = Clock::calibrate(Duration::from_millis(20)).clock;
        let watch = watch(clock, Duration::from_millis(50));
        assert!(clock.to_ns(watch.span) >= 50e6 * 0.99 && watch.passes > 0 && !watch.full);
        assert!(watch.gaps.iter().all(|gap| gap.length > watch.threshold && gap.start >= watch.start));
        assert!(watch.gaps.windows(2).all(|pair| pair[0].start + pair[0].length <= pair[1].start));
        assert!((0.0..=1.0).contains(&watch.lost_share()));
    }
}
