//! A measurement of whether two CPUs are hardware threads of one core, whatever the topology says.
//!
//! A hypervisor often reports to its guest that each CPU is a core. So one of the two alternately works and rests, and the other one
//! probes: if its core gets narrower when the first works, it is the same core.
//!
//! Another guest may take part of the core too, at any time. So each turn of work is compared with the
//! adjacent turn of rest, and the median of these ratios counts. The measured sibling narrows the core in every turn of
//! work. Another guest that is active for a share *s* of the time narrows turns of work and of rest alike: one of the two
//! and not the other in `s * (1 - s)` of the pairs at most, which is a quarter, and as often the one as the other.

use super::loops;
use super::probe::Probe;
use crate::clock::Clock;
use crate::cpus::pin_current_thread;
use crate::statistics::Interval;
use crate::statistics::order::{median, sample_quantile_interval};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// What two CPUs are to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// How many times as long the loop of width takes on the one while the other works: 1 for two cores.
    pub narrowing: Narrowing,
    /// How long a cache line takes from one to the other, in nanoseconds: the less, the nearer the cache that both use.
    pub line_ns: f64,
}

/// How much narrower a core is while another CPU works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Narrowing {
    /// The median of the pairs of turns.
    pub median: f64,
    /// Its 99 % confidence interval.
    pub interval: Interval,
}

/// A loop on a shared core loses a third at least.
const SHARES_FROM: f64 = 1.2;
const CONFIDENCE: f64 = 0.99;

impl Narrowing {
    /// The estimate from one ratio per pair of turns: the loop's time during work by its time during rest. `None` of fewer
    /// than eight.
    ///
    /// ```
    /// use instruments::neighbour::Narrowing;
    ///
    /// // A stranger came in one turn of rest and in two turns of work.
    /// let ratios = [1.0, 1.01, 1.6, 0.99, 1.0, 0.6, 1.0, 1.7, 1.0, 1.0, 1.02, 0.98];
    /// assert_eq!(Narrowing::of(&ratios).unwrap().shares_core(), None, "of so few pairs nothing is told");
    /// let ratios = ratios.repeat(4);
    /// assert_eq!(Narrowing::of(&ratios).unwrap().shares_core(), Some(false));
    /// ```
    pub fn of(ratios: &[f64]) -> Option<Self> {
        let interval = sample_quantile_interval(ratios, 0.5, CONFIDENCE)?;
        Some(Narrowing { median: median(ratios)?, interval })
    }

    /// Whether the two are threads of one core; `None` if the interval leaves both possible.
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

/// What one thread asks of the other.
#[derive(Default)]
struct Partner {
    task: AtomicU32,
    /// Grows while it works.
    progress: AtomicU64,
    question: AtomicU64,
    answer: AtomicU64,
}

const TURN: Duration = Duration::from_millis(1);
/// It sees its task within this time: its sleep, or its loop.
const SETTLES: Duration = Duration::from_micros(500);
const ROUND_TRIPS: u64 = 200;
const BATCHES: usize = 25;

/// Finds out in about `span`; where other guests take too large a part of the core for a result, in further ones, as
/// long as it `goes_on`. `None` if one of the two had no time of its CPU.
///
/// # Errors
/// A CPU that may not be used, a thread that the system refuses.
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
        let asking = std::thread::Builder::new().spawn_scoped(scope, || {
            let asked = pin_current_thread(one).map(|()| partner.ask(clock, probe, span, &goes_on));
            partner.task.store(END, Ordering::Release);
            asked
        });
        if asking.is_err() {
            partner.task.store(END, Ordering::Release);
        }
        let asked = asking?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        serving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        asked
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

    fn ask(&self, clock: Clock, probe: Probe, span: Duration, goes_on: &dyn Fn() -> bool) -> Option<Pair> {
        let pairs = (span.as_secs_f64() / (2 * (TURN + SETTLES)).as_secs_f64()).ceil() as usize;
        let mut ratios = Vec::new();
        let narrowing = loop {
            ratios.extend((0..pairs).filter_map(|pair| self.turns(clock, probe, pair % 2 == 0)));
            let found = Narrowing::of(&ratios);
            if found.and_then(|found| found.shares_core()).is_some() || !goes_on() {
                break found;
            }
        };
        Some(Pair { narrowing: narrowing?, line_ns: self.line_ns(clock)? })
    }

    /// How many times as long the loop takes in a turn of work as in one of rest. Which comes first changes, so that
    /// what gets slower or quicker all the while is in half of the pairs on the other side.
    fn turns(&self, clock: Clock, probe: Probe, rests_first: bool) -> Option<f64> {
        let (working, resting) = if rests_first {
            let resting = self.turn(clock, probe, REST);
            (self.turn(clock, probe, WORK), resting)
        } else {
            (self.turn(clock, probe, WORK), self.turn(clock, probe, REST))
        };
        Some(working? / resting?)
    }

    /// `None` if the other had nothing of its CPU in a turn of work.
    fn turn(&self, clock: Clock, probe: Probe, task: u32) -> Option<f64> {
        self.task.store(task, Ordering::Release);
        std::thread::sleep(SETTLES);
        let progress = self.progress.load(Ordering::Relaxed);
        let cycles = self.probe_for(clock, probe)?;
        let has_worked = self.progress.load(Ordering::Relaxed) > progress;
        (task == REST || has_worked).then_some(cycles)
    }

    /// A turn's median: a guest that comes in its midst does not count.
    fn probe_for(&self, clock: Clock, probe: Probe) -> Option<f64> {
        let until = clock.now() + clock.ticks_in(TURN);
        let mut cycles = Vec::new();
        while clock.now() < until {
            cycles.push(f64::from(probe.take().cycles));
        }
        median(&cycles)
    }

    /// Half of a question and its answer.
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

    /// Turns of a core on which another guest comes and goes, for `mean_ms` each time and `share` of the time.
    struct Strangers {
        rng: fastrand::Rng,
        share: f64,
        mean_ms: f64,
        is_there: bool,
        left_ms: f64,
    }

    impl Strangers {
        fn new(seed: u64, share: f64, mean_ms: f64) -> Self {
            let mut rng = fastrand::Rng::with_seed(seed);
            let is_there = rng.f64() < share;
            Strangers { rng, share, mean_ms, is_there, left_ms: 0.0 }
        }

        /// How long the loop takes in a turn.
        fn turn(&mut self) -> f64 {
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

        /// The result of a second, with a sibling if there is one.
        fn verdict(mut self, own: bool) -> Option<bool> {
            let pair = |strangers: &mut Self| {
                let (resting, working) = (strangers.turn(), strangers.turn());
                // A core has two threads: with both in use, there is no room for other guests.
                if own { 1.6 } else { working / resting }
            };
            let ratios: Vec<f64> = (0..333).map(|_| pair(&mut self)).collect();
            Narrowing::of(&ratios)?.shares_core()
        }
    }

    #[test]
    fn strangers_are_not_taken_for_ones_own() {
        for (share, mean_ms) in [(0.1, 1.0), (0.5, 1.0), (0.5, 5.0), (0.7, 3.0), (0.7, 50.0), (0.9, 10.0)] {
            let told: Vec<Option<bool>> =
                (0..1_000).map(|seed| Strangers::new(seed, share, mean_ms).verdict(false)).collect();
            let of = |verdict| told.iter().filter(|&&told| told == verdict).count();
            assert_eq!(of(Some(true)), 0, "{share} of the time, {mean_ms} ms each");
            assert!(of(None) < 10, "{} of 1,000 untold: {share} of the time, {mean_ms} ms each", of(None));
        }
        assert_eq!(Strangers::new(1, 0.5, 5.0).verdict(true), Some(true));
    }

    #[test]
    fn what_steals_turns_from_ones_own_sibling_does_not_hide_it() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..1_000 {
            // In a tenth of the turns of work it had hardly any time, and in a tenth of rest a guest came.
            let turn = |rng: &mut fastrand::Rng| match rng.u32(..10) {
                0 => 1.0,
                1 => 1.5 / 1.6,
                _ => 1.5,
            };
            let ratios: Vec<f64> = (0..132).map(|_| turn(&mut rng)).collect();
            assert_eq!(Narrowing::of(&ratios).unwrap().shares_core(), Some(true), "{ratios:?}");
        }
    }
}
