//! A measurement of whether two CPUs are hardware threads of one core, whatever the topology says.
//!
//! A hypervisor often reports to its guest that each CPU is a core. Here one of the two alternately works and rests,
//! and the other one probes. If its core gets narrower while the first works, it is the same core.
//!
//! Another guest may use part of the core too, at any time. Each window of work is therefore compared with the
//! adjacent window of rest, and the median of these ratios counts. The measured sibling narrows the core in every
//! window of work. Another guest that is active for a share *s* of the time narrows windows of work and of rest
//! alike. It narrows one of the two and not the other in at most `s * (1 - s)` of the pairs, which is a quarter, and
//! both directions are equally frequent.

use super::loops;
use super::probe::Probe;
use crate::clock::Clock;
use crate::cpus::pin_current_thread;
use crate::statistics::Interval;
use crate::statistics::order::{median, sample_quantile_interval};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The relation between two CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Ratio of the width loop's time on one CPU while the other works to its time while the other rests: 1 for two
    /// cores.
    pub narrowing: Narrowing,
    /// Transfer time of a cache line from one to the other, in nanoseconds: smaller if the cache that both use is
    /// nearer.
    pub line_ns: f64,
}

/// The narrowing of a core while another CPU works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Narrowing {
    /// Median of the pairs of windows.
    pub median: f64,
    /// 99 % confidence interval of the median.
    pub interval: Interval,
}

/// Least narrowing of a shared core: a loop on it loses at least a third.
const SHARES_FROM: f64 = 1.2;
const CONFIDENCE: f64 = 0.99;

impl Narrowing {
    /// Returns the estimate from one ratio per pair of windows: the loop's time during work by its time during rest.
    /// `None` for fewer than eight.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::neighbour::Narrowing;
    ///
    /// // Another guest was active in one window of rest and in two windows of work.
    /// let ratios = [1.0, 1.01, 1.6, 0.99, 1.0, 0.6, 1.0, 1.7, 1.0, 1.0, 1.02, 0.98];
    /// assert_eq!(Narrowing::of(&ratios).unwrap().shares_core(), None, "too few pairs for a result");
    /// let ratios = ratios.repeat(4);
    /// assert_eq!(Narrowing::of(&ratios).unwrap().shares_core(), Some(false));
    /// ```
    pub fn of(ratios: &[f64]) -> Option<Self> {
        let interval = sample_quantile_interval(ratios, 0.5, CONFIDENCE)?;
        Some(Narrowing { median: median(ratios)?, interval })
    }

    /// Returns whether the two are threads of one core; `None` if the interval permits both.
    pub fn shares_core(&self) -> Option<bool> {
        let Interval { low, high } = self.interval;
        if low >= SHARES_FROM {
            Some(true)
        } else if high < SHARES_FROM {
            Some(false)
        } else {
            None
        }
    }
}

const REST: u32 = 0;
const WORK: u32 = 1;
const ANSWER: u32 = 2;
const END: u32 = 3;

/// The protocol between the two threads.
#[derive(Default)]
struct Partner {
    task: AtomicU32,
    /// Increases while the partner works.
    progress: AtomicU64,
    question: AtomicU64,
    answer: AtomicU64,
}

const WINDOW: Duration = Duration::from_millis(1);
/// Time after which the partner has seen its task: its sleep, or its loop.
const SETTLES: Duration = Duration::from_micros(500);
const ROUND_TRIPS: u64 = 200;
const BATCHES: usize = 25;

/// Measures in about `span`.
///
/// If other guests use too large a part of the core for a result, it measures for further spans, as long as `goes_on`
/// returns true. The result is `None` if one of the two got no time on its CPU.
///
/// # Errors
///
/// Returns an error if a CPU may not be used, or if the system refuses a thread.
pub fn pair(
    clock: Clock,
    probe: Probe,
    one: usize,
    other: usize,
    span: Duration,
    goes_on: impl Fn() -> bool + Sync,
) -> io::Result<Option<Pair>> {
    let partner = Partner::default();
    std::thread::scope(|scope| {
        let serving =
            std::thread::Builder::new().spawn_scoped(scope, || pin_current_thread(other).map(|()| partner.serve()))?;
        let measuring = std::thread::Builder::new().spawn_scoped(scope, || {
            let result = pin_current_thread(one).map(|()| partner.measure(clock, probe, span, &goes_on));
            partner.task.store(END, Ordering::Release);
            result
        });
        if measuring.is_err() {
            partner.task.store(END, Ordering::Release);
        }
        let result = measuring?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        serving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        result
    })
}

impl Partner {
    fn serve(&self) {
        loop {
            match self.task.load(Ordering::Acquire) {
                REST => std::thread::sleep(Duration::from_micros(200)),
                WORK => {
                    loops::width(2_000);
                    self.progress.fetch_add(1, Ordering::Relaxed);
                }
                ANSWER => {
                    let question = self.question.load(Ordering::Acquire);
                    self.answer.store(question, Ordering::Release);
                }
                _ => return,
            }
        }
    }

    fn measure(&self, clock: Clock, probe: Probe, span: Duration, goes_on: &dyn Fn() -> bool) -> Option<Pair> {
        let pairs = (span.as_secs_f64() / (2 * (WINDOW + SETTLES)).as_secs_f64()).ceil() as usize;
        let mut ratios = Vec::new();
        let narrowing = loop {
            ratios.extend((0..pairs).filter_map(|pair| self.ratio(clock, probe, pair % 2 == 0)));
            let found = Narrowing::of(&ratios);
            if found.and_then(|found| found.shares_core()).is_some() || !goes_on() {
                break found;
            }
        };
        Some(Pair { narrowing: narrowing?, line_ns: self.line_ns(clock)? })
    }

    /// Returns the ratio of the loop's time in a window of work to that in a window of rest.
    ///
    /// The order alternates, so that a gradual change of speed has the opposite effect in half of the pairs.
    fn ratio(&self, clock: Clock, probe: Probe, rests_first: bool) -> Option<f64> {
        let (working, resting) = if rests_first {
            let resting = self.window(clock, probe, REST);
            (self.window(clock, probe, WORK), resting)
        } else {
            (self.window(clock, probe, WORK), self.window(clock, probe, REST))
        };
        Some(working? / resting?)
    }

    /// Returns the loop's time in a window; `None` if the partner got no time on its CPU in a window of work.
    fn window(&self, clock: Clock, probe: Probe, task: u32) -> Option<f64> {
        self.task.store(task, Ordering::Release);
        std::thread::sleep(SETTLES);
        let progress = self.progress.load(Ordering::Relaxed);
        let cycles = self.probe_for(clock, probe)?;
        let has_worked = self.progress.load(Ordering::Relaxed) > progress;
        (task == REST || has_worked).then_some(cycles)
    }

    /// Returns the median of a window: a guest that becomes active within it does not affect the result.
    fn probe_for(&self, clock: Clock, probe: Probe) -> Option<f64> {
        let until = clock.now() + clock.ticks_in(WINDOW);
        let mut cycles = Vec::new();
        while clock.now() < until {
            cycles.push(f64::from(probe.take().cycles));
        }
        median(&cycles)
    }

    /// Returns half of the time of a question and its answer.
    fn line_ns(&self, clock: Clock) -> Option<f64> {
        self.task.store(ANSWER, Ordering::Release);
        let give_up = clock.now() + clock.ticks_in(Duration::from_millis(200));
        let mut batches = Vec::new();
        for batch in 0..BATCHES as u64 {
            let began = clock.stamp();
            for trip in 1..=ROUND_TRIPS {
                let question = batch * ROUND_TRIPS + trip;
                self.question.store(question, Ordering::Release);
                while self.answer.load(Ordering::Acquire) != question {
                    if clock.now() > give_up {
                        return None;
                    }
                    std::hint::spin_loop();
                }
            }
            batches.push(clock.to_ns(clock.stamp() - began) / (2 * ROUND_TRIPS) as f64);
        }
        median(&batches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of a core on which another guest becomes active for `mean_ms` each time, and for `share` of the time.
    struct OtherGuests {
        rng: fastrand::Rng,
        share: f64,
        mean_ms: f64,
        is_there: bool,
        left_ms: f64,
    }

    impl OtherGuests {
        fn new(seed: u64, share: f64, mean_ms: f64) -> Self {
            let mut rng = fastrand::Rng::with_seed(seed);
            let is_there = rng.f64() < share;
            OtherGuests { rng, share, mean_ms, is_there, left_ms: 0.0 }
        }

        /// Returns the time of the loop in a window.
        fn window(&mut self) -> f64 {
            let mut left = 1.5;
            while self.left_ms < left {
                left -= self.left_ms;
                self.is_there = !self.is_there;
                let mean = if self.is_there { self.mean_ms } else { self.mean_ms * (1.0 - self.share) / self.share };
                self.left_ms = -mean * (1.0 - self.rng.f64()).ln();
            }
            self.left_ms -= left;
            let scatter = 1.0 + 0.02 * (self.rng.f64() - 0.5);
            if self.is_there { 1.6 * scatter } else { scatter }
        }

        /// Returns the result of a second, with a sibling if there is one.
        fn verdict(mut self, own: bool) -> Option<bool> {
            let pair = |guests: &mut Self| {
                let (resting, working) = (guests.window(), guests.window());
                // A core has two threads: if both are in use, no other guest can be active.
                if own { 1.6 } else { working / resting }
            };
            let ratios: Vec<f64> = (0..333).map(|_| pair(&mut self)).collect();
            Narrowing::of(&ratios)?.shares_core()
        }
    }

    #[test]
    fn other_guests_are_not_mistaken_for_the_sibling() {
        for (share, mean_ms) in [(0.1, 1.0), (0.5, 1.0), (0.5, 5.0), (0.7, 3.0), (0.7, 50.0), (0.9, 10.0)] {
            let verdicts: Vec<Option<bool>> =
                (0..400).map(|seed| OtherGuests::new(seed, share, mean_ms).verdict(false)).collect();
            let of = |verdict| verdicts.iter().filter(|&&verdicts| verdicts == verdict).count();
            assert_eq!(of(Some(true)), 0, "{share} of the time, {mean_ms} ms each");
            assert!(of(None) < 4, "{} of 400 undecided: {share} of the time, {mean_ms} ms each", of(None));
        }
        assert_eq!(OtherGuests::new(1, 0.5, 5.0).verdict(true), Some(true));
    }

    #[test]
    fn disturbed_windows_do_not_hide_the_sibling() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..1_000 {
            // In a tenth of the windows of work the sibling had hardly any time, and in a tenth of those of rest a
            // guest was active.
            let window = |rng: &mut fastrand::Rng| match rng.u32(..10) {
                0 => 1.0,
                1 => 1.5 / 1.6,
                _ => 1.5,
            };
            let ratios: Vec<f64> = (0..132).map(|_| window(&mut rng)).collect();
            assert_eq!(Narrowing::of(&ratios).unwrap().shares_core(), Some(true), "{ratios:?}");
        }
    }
}
