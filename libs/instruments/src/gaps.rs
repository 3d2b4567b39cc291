//! Detection of the times at which a thread that only reads the clock does not run.
//!
//! The sampling thread does nothing between two adjacent reads of the clock, so a difference much larger than usual
//! is time in which it did not run: a *gap*. The gap is stored before the clock is read again, and the next
//! difference starts at the value that ended the gap. The time for storing is therefore watched as well.
//!
//! Each sampling thread calibrates the threshold of a gap on its own CPU: a time clearly above the usual pass.

use crate::clock::{Clock, step};
use std::ops::ControlFlow;
use std::time::Duration;

/// One time at which the thread did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Start, in ticks.
    pub start: u64,
    /// Length, in ticks.
    pub length: u64,
}

impl Gap {
    /// Returns the end, in ticks.
    pub fn end(&self) -> u64 {
        self.start + self.length
    }
}

/// Result of a watch.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// Gaps, oldest first.
    pub gaps: Vec<Gap>,
    /// Length of the watch in ticks, including pauses.
    pub span: u64,
    /// Start of the watch, in ticks.
    pub start: u64,
    /// Number of passes of the loop.
    pub passes: u64,
    /// Threshold in ticks: a larger difference counts as a gap.
    pub threshold: u64,
    /// Whether the buffer for gaps was full before the time was over.
    pub full: bool,
    /// Pauses within the watch, in which the sampling thread did something else: there are no data.
    pub looks: Vec<Gap>,
}

impl Watch {
    /// Returns the time in which the clock was read, in ticks.
    pub fn watched(&self) -> u64 {
        self.span - self.looks.iter().map(|look| look.length).sum::<u64>().min(self.span)
    }

    /// Returns the share of the watched time that was lost to gaps, 0 to 1.
    pub fn lost_share(&self) -> f64 {
        self.gaps.iter().map(|gap| gap.length).sum::<u64>() as f64 / self.watched().max(1) as f64
    }
}

/// End of a watch: after this time or this number of passes, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Longest time.
    pub length: Duration,
    /// Largest number of passes of the loop.
    pub passes: u64,
}

/// Cost of the loop of a [`Reader`] compared with a loop that only reads the clock: medians of short repetitions, in
/// ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Duration of a pass of the reader's loop, in ticks.
    pub pass: f64,
    /// Duration of a pass of the bare loop, in ticks.
    pub bare_pass: f64,
}

/// A sampling thread's calibrated threshold and its buffer for gaps.
#[derive(Debug)]
pub struct Reader {
    clock: Clock,
    threshold: u64,
    gaps: Vec<Gap>,
}

/// Number of gaps for which [`watch`] has room.
const CAPACITY: usize = 1 << 20;

impl Reader {
    /// Calibrates on the calling thread's CPU in a few milliseconds, and allocates room for `capacity` gaps.
    ///
    /// Pin the thread first.
    ///
    /// # Panics
    ///
    /// Panics if `capacity` is 0.
    pub fn new(clock: Clock, capacity: usize) -> Self {
        assert!(capacity > 0, "a reader needs room for a gap");
        // Written now, so that no page fault appears as a gap.
        Self { clock, threshold: threshold(clock), gaps: vec![Gap { start: 1, length: 1 }; capacity] }
    }

    /// Returns the threshold in ticks: a larger difference counts as a gap.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Reads the clock until a limit is reached, the buffer is full, or `on_gap` breaks.
    ///
    /// `on_gap` is called after each gap is stored, with the gap and its number, counted from 0. The next pass
    /// detects a gap that occurs during this call.
    pub fn read(&mut self, limit: Limit, mut on_gap: impl FnMut(usize, Gap) -> ControlFlow<()>) -> Watch {
        self.watch(limit, limit.length, &mut || (), &mut on_gap)
    }

    /// Reads the clock as [`read`](Self::read) does, and calls `look` after each period of length `every`; there are
    /// no data for the time of these calls.
    pub fn read_and_look(
        &mut self,
        limit: Limit,
        every: Duration,
        mut look: impl FnMut(),
        mut on_gap: impl FnMut(usize, Gap) -> ControlFlow<()>,
    ) -> Watch {
        self.watch(limit, every, &mut look, &mut on_gap)
    }

    /// The only loop of all watches, compiled here: the cost of a pass does not depend on how the caller is compiled.
    fn watch(
        &mut self,
        limit: Limit,
        every: Duration,
        look: &mut dyn FnMut(),
        on_gap: &mut dyn FnMut(usize, Gap) -> ControlFlow<()>,
    ) -> Watch {
        let Self { clock, threshold, ref mut gaps } = *self;
        let (mut found, mut passes, mut goes_on) = (0, 0, true);
        let mut looks = Vec::with_capacity((limit.length.as_nanos() / every.as_nanos().max(1)) as usize);
        let start = clock.now();
        let end = start + clock.ticks_in(limit.length);
        let every = clock.ticks_in(every).max(1);
        let (mut last, mut next) = (start, end.min(start + every));
        loop {
            while last < next && passes < limit.passes && goes_on {
                let now = clock.now();
                passes += 1;
                // The comparison is signed: a counter that steps back, as when a virtual machine migrates, is not a
                // gap.
                if now.wrapping_sub(last) as i64 > threshold as i64 {
                    let gap = Gap { start: last, length: now - last };
                    gaps[found] = gap;
                    goes_on = on_gap(found, gap).is_continue();
                    found += 1;
                    goes_on &= found < gaps.len();
                }
                last = now;
            }
            if last >= end || passes >= limit.passes || !goes_on {
                break;
            }
            look();
            let now = clock.now();
            looks.push(Gap { start: last, length: now.saturating_sub(last) });
            (last, next) = (now, end.min(now + every));
        }
        let (full, span) = (found == gaps.len(), last.saturating_sub(start));
        Watch { gaps: gaps[..found].to_vec(), span, start, passes, threshold, full, looks }
    }

    /// Compares the loop with a bare one in alternating repetitions of about 10 µs each, which are too short to be
    /// interrupted often.
    pub fn cost(&mut self) -> Cost {
        const TURNS: usize = 301;
        const PASSES: u64 = 1_000;
        let limit = Limit { length: Duration::from_secs(1), passes: PASSES };
        let (mut with, mut without) = (Vec::with_capacity(TURNS), Vec::with_capacity(TURNS));
        for _ in 0..TURNS {
            with.push(self.read(limit, |_, _| ControlFlow::Continue(())).span);
            without.push(bare(self.clock, PASSES));
        }
        let median = |spans: &mut Vec<u64>| *spans.select_nth_unstable(TURNS / 2).1 as f64 / PASSES as f64;
        Cost { pass: median(&mut with), bare_pass: median(&mut without) }
    }
}

/// Returns the duration of `passes` reads of the clock in a loop that does nothing else, in ticks.
fn bare(clock: Clock, passes: u64) -> u64 {
    let start = clock.now();
    let mut last = start;
    for _ in 0..passes {
        // Prevents the compiler from removing all reads except the last.
        last = std::hint::black_box(clock.now());
    }
    last.saturating_sub(start)
}

/// Watches the calling thread's CPU for `length`; pin the thread first.
pub fn watch(clock: Clock, length: Duration) -> Watch {
    Reader::new(clock, CAPACITY).read(Limit { length, passes: u64::MAX }, |_, _| ControlFlow::Continue(()))
}

/// Number of reads for the calibration.
const READS: usize = 100_001;
/// Excess over the usual pass, in nanoseconds, above which a difference is a gap. It exceeds the jitter of one read
/// and the effect of an SMT sibling, whose clusters are at 100 to 130, and is far below the shortest interrupt.
const MARGIN_NS: f64 = 140.0;

/// Returns the threshold of a gap on the calling thread's CPU, in ticks.
pub fn threshold(clock: Clock) -> u64 {
    let mut reads = vec![0; READS];
    reads.iter_mut().for_each(|slot| *slot = clock.now());
    usual(reads.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect()) + clock.to_ticks(MARGIN_NS)
}

/// Returns the usual duration of a pass: the median of many, and at least the clock's step. A coarse clock does not
/// advance between most reads, and the step that follows is not a gap.
fn usual(mut differences: Vec<u64>) -> u64 {
    let median = *differences.select_nth_unstable(READS / 2).1;
    median.max(step(&differences.into_iter().collect()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_of_a_coarse_clock_is_not_a_gap() {
        let coarse = (0..READS).map(|read| if read % 30 == 0 { 62 } else { 0 });
        assert_eq!(usual(coarse.collect()), 62);
        assert_eq!(usual((0..READS as u64).map(|read| 25 + read % 2 * 25).collect()), 25);
    }
}

#[cfg(test)]
mod measured {
    use super::*;

    fn clock() -> Clock {
        Clock::calibrate(Duration::from_millis(20)).clock
    }

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn watch_has_the_requested_length_and_contains_its_gaps() {
        let clock = clock();
        let watch = watch(clock, Duration::from_millis(50));
        assert!(clock.to_ns(watch.span) >= 50e6 * 0.99 && watch.passes > 0 && !watch.full);
        assert!(watch.gaps.iter().all(|gap| gap.length > watch.threshold && gap.start >= watch.start));
        assert!(watch.gaps.windows(2).all(|pair| pair[0].end() <= pair[1].start));
        assert!((0.0..=1.0).contains(&watch.lost_share()));
    }

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn a_watch_ends_after_its_passes() {
        let watch = Reader::new(clock(), 8)
            .read(Limit { length: Duration::from_secs(60), passes: 100 }, |_, _| ControlFlow::Continue(()));
        assert!(watch.passes == 100 || watch.full);
    }

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn full_buffer_ends_the_watch_and_is_reported() {
        let clock = clock();
        let mut numbers = Vec::new();
        let mut reader = Reader::new(clock, 3);
        // A thread that sleeps does not run: the next pass detects a gap.
        let watch = reader.read(Limit { length: Duration::from_secs(60), passes: u64::MAX }, |number, _| {
            numbers.push(number);
            std::thread::sleep(Duration::from_micros(100));
            ControlFlow::Continue(())
        });
        assert!(watch.full && watch.gaps.len() == 3);
        assert_eq!(numbers, [0, 1, 2]);
    }

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn callback_on_a_gap_can_end_the_watch() {
        let watch = Reader::new(clock(), 8)
            .read(Limit { length: Duration::from_secs(60), passes: u64::MAX }, |_, _| ControlFlow::Break(()));
        assert!(watch.gaps.len() == 1 && !watch.full);
    }

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn time_spent_on_a_gap_is_watched_too() {
        let clock = clock();
        let mut reader = Reader::new(clock, 1_000);
        let pause = clock.ticks_in(Duration::from_millis(2));
        let watch = reader.read(Limit { length: Duration::from_millis(200), passes: u64::MAX }, |number, _| {
            if number == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
            ControlFlow::Continue(())
        });
        let Some(second) = watch.gaps.get(1) else { panic!("the pause is not there: {watch:?}") };
        assert!(second.start == watch.gaps[0].end() && second.length >= pause);
    }

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn pauses_of_the_reader_are_not_watched() {
        let clock = clock();
        let mut reader = Reader::new(clock, 100_000);
        let limit = Limit { length: Duration::from_millis(100), passes: u64::MAX };
        let (nap, mut looked) = (Duration::from_millis(5), 0);
        let look = || {
            looked += 1;
            std::thread::sleep(nap);
        };
        let watch = reader.read_and_look(limit, Duration::from_millis(10), look, |_, _| ControlFlow::Continue(()));
        assert!(looked > 0 && watch.looks.len() == looked);
        assert!(watch.looks.iter().all(|look| look.length >= clock.ticks_in(nap)), "{watch:?}");
        let is_in = |gap: &Gap, look: &Gap| gap.start < look.end() && look.start < gap.end();
        assert!(!watch.gaps.iter().any(|gap| watch.looks.iter().any(|look| is_in(gap, look))), "{watch:?}");
        assert!(watch.watched() + looked as u64 * clock.ticks_in(nap) <= watch.span);
    }

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn threshold_exceeds_the_usual_pass() {
        let clock = clock();
        let mut reader = Reader::new(clock, 1_000);
        let cost = reader.cost();
        assert!(cost.pass > 0.0 && cost.bare_pass > 0.0);
        assert!(reader.threshold() as f64 > cost.pass);
    }
}
