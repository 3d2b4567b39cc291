//! A calibrated busy loop, called *grind*: work that takes a known time and has no effect.
//!
//! It is a chain of dependent loads. The address of each load is the result of the previous one, so the loads cannot
//! overlap, and each takes the load-to-use latency of the L1 cache. A pass contains 32 loads, which hide the cost of
//! the loop itself. The loads are volatile, so the compiler can neither remove nor merge them.
//!
//! The shape and the calibration are those of `cpuload` (Rico Tudor, Be Newsletter, October 1998). The search
//! increases the length by a factor of 1.1 until it takes 800 µs, short enough to fit between two 1 ms ticks, with
//! the best of 100 runs for each candidate. One run below 800 µs proves that the best of them is below too, so only
//! the last candidate needs all 100. The search ends with the same candidate as the original in a tenth of the time.
//!
//! In 1998 the author assumed 3 cycles per load to convert time into MHz. Here a second chain, of dependent register
//! additions of one cycle each, measures the cycle. Both chains are run in turns, and each ratio is of the same
//! moment: cores change their frequency within milliseconds, so the best runs of two moments have no ratio.
//!
//! ```no_run
//! use instruments::{clock::Clock, grind::Grind};
//! use std::time::Duration;
//!
//! let clock = Clock::calibrate(Duration::from_millis(10)).clock;
//! let grind = Grind::calibrate(clock, || false);
//! let start = clock.stamp();
//! grind.work(6_100.0).run();
//! assert!(clock.to_ns(clock.stamp() - start) > 3_000.0);
//! ```

use crate::clock::Clock;
use serde::{Deserialize, Serialize};

/// Number of dependent loads in one pass of the inner loop.
pub const LOADS_A_PASS: u64 = 32;

struct Link {
    next: *const Link,
}

// SAFETY: the static is never written after its initialisation; the pointer in it is only read.
unsafe impl Sync for Link {}

/// A list of one link, made circular by pointing at itself.
static FUTILE: Link = Link { next: &raw const FUTILE };

#[inline(always)]
fn follow(link: *const Link) -> *const Link {
    // SAFETY: `link` is `&FUTILE`, as every `next` reachable from it is; `FUTILE` lives as long as the program.
    unsafe { core::ptr::read_volatile(&raw const (*link).next) }
}

/// A fixed number of dependent loads: whole passes, then single loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    passes: u64,
    rest: u64,
}

impl Work {
    /// Returns the work of `loads` dependent loads.
    pub const fn of_loads(loads: u64) -> Self {
        Self { passes: loads / LOADS_A_PASS, rest: loads % LOADS_A_PASS }
    }

    /// Returns the number of its loads.
    pub const fn loads(self) -> u64 {
        self.passes * LOADS_A_PASS + self.rest
    }

    /// Does the work.
    ///
    /// The function is never inlined, so that its cost is the same at each call site.
    #[inline(never)]
    pub fn run(self) {
        let mut link: *const Link = &FUTILE;
        for _ in 0..self.passes {
            link = follow_eight(follow_eight(follow_eight(follow_eight(link))));
        }
        for _ in 0..self.rest {
            link = follow(link);
        }
        std::hint::black_box(link);
    }
}

#[inline(always)]
fn follow_eight(link: *const Link) -> *const Link {
    follow(follow(follow(follow(follow(follow(follow(follow(link))))))))
}

/// One candidate of the calibration's search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// Dependent loads per run.
    pub loads: u64,
    /// Duration in nanoseconds without the clock's cost: the best of 100 runs, or the first that was short enough to
    /// continue the search.
    pub best_ns: f64,
}

/// A calibrated grind: the duration of a load on this machine, and the constant cost of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grind {
    /// Nanoseconds per load.
    pub ns_per_load: f64,
    /// Cost of a run in nanoseconds in addition to its loads: call, loop entry and exit.
    pub overhead_ns: f64,
    /// Load-to-use latency of the L1 cache in cycles, by runs of both chains in turns; `None` if the architecture has no
    /// chain of additions, or if the ratios of the runs differ too much.
    pub cycles_per_load: Option<f64>,
    /// Candidates of the search, from the shortest to the longest.
    pub search: Vec<Candidate>,
}

/// Measured duration of a grind of a given length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Requested length, in nanoseconds.
    #[serde(rename = "asked_ns")]
    pub requested_ns: f64,
    /// Best of 100 runs, in nanoseconds: up to one step of the clock below the true value.
    pub best_ns: f64,
    /// Median of those runs, in nanoseconds.
    pub median_ns: f64,
}

impl Check {
    /// Returns whether the best run was within 1 % or 20 ns of the requested length, whichever is larger.
    pub fn holds(&self) -> bool {
        (self.best_ns - self.requested_ns).abs() <= (self.requested_ns * 0.01).max(20.0)
    }
}

const SEARCH_UNTIL_NS: f64 = 800_000.0;
const FIRST_PASSES: f64 = 10.0;
const SEARCH_FACTOR: f64 = 1.1;

impl Grind {
    /// Calibrates on the calling thread for about a tenth of a second; pin the thread first.
    ///
    /// If `stop` returns true, it ends early with the candidates measured so far.
    pub fn calibrate(clock: Clock, stop: impl Fn() -> bool) -> Self {
        Self::search(clock, &stop)
    }

    /// Compiled here for all callers: the timed code must not depend on the caller.
    fn search(clock: Clock, stop: &dyn Fn() -> bool) -> Self {
        let clock_cost_ns = clock_cost_ns(clock);
        let mut search = Vec::new();
        let mut passes = FIRST_PASSES;
        loop {
            let work = Work::of_loads(passes as u64 * LOADS_A_PASS);
            let took = (0..RUNS).map(|_| run_ns(clock, || work.run()) - clock_cost_ns);
            let best_ns = best_unless_below(SEARCH_UNTIL_NS, took);
            search.push(Candidate { loads: work.loads(), best_ns });
            if best_ns > SEARCH_UNTIL_NS || stop() {
                break;
            }
            passes = (passes * SEARCH_FACTOR).max(passes + 1.0);
        }
        let last = search[search.len() - 1];
        let ns_per_load = last.best_ns / last.loads as f64;
        let overhead_ns = (usual_ns(clock, SHORT) - clock_cost_ns - SHORT.loads() as f64 * ns_per_load).max(0.0);
        Self { ns_per_load, overhead_ns, cycles_per_load: cycles_per_load(clock, clock_cost_ns), search }
    }

    /// Returns the work that takes `ns` nanoseconds on a CPU without interruptions; none for 0 or less.
    pub fn work(&self, ns: f64) -> Work {
        Work::of_loads(((ns - self.overhead_ns) / self.ns_per_load).round() as u64)
    }

    /// Runs a grind of `ns` nanoseconds 100 times and returns its measured duration.
    pub fn check(&self, clock: Clock, ns: f64) -> Check {
        let clock_cost_ns = clock_cost_ns(clock);
        let work = self.work(ns);
        let took = runs(clock, RUNS, || work.run());
        Check { requested_ns: ns, best_ns: took[0] - clock_cost_ns, median_ns: took[RUNS / 2] - clock_cost_ns }
    }

    /// Returns the core's clock rate in MHz, during the calibration of the load.
    pub fn mhz(&self) -> Option<f64> {
        self.cycles_per_load.map(|cycles| 1e3 * cycles / self.ns_per_load)
    }
}

/// Work so short that the constant cost of a run matters, and an error of a per cent in the cost of a load does not.
const SHORT: Work = Work::of_loads(2 * LOADS_A_PASS);

/// Returns the least value; no more runs are made once one of them is at most `limit`.
fn best_unless_below(limit: f64, runs: impl IntoIterator<Item = f64>) -> f64 {
    let mut best = f64::INFINITY;
    for took in runs {
        best = best.min(took);
        if best <= limit {
            break;
        }
    }
    best
}

fn clock_cost_ns(clock: Clock) -> f64 {
    undisturbed_mean(&runs(clock, 1_000, || ()))
}

/// Returns the usual duration of a run of `work` in nanoseconds, including the clock's cost.
fn usual_ns(clock: Clock, work: Work) -> f64 {
    undisturbed_mean(&runs(clock, 1_000, || work.run()))
}

// The length of a cycle, measured by a chain of dependent additions.

const ADDITIONS_A_PASS: u64 = 32;

/// Returns the cycles of a load, by runs of loads and of additions in turns.
///
/// The best of both in 200 µs are of one frequency, mostly; an interruption, or an SMT sibling that competes for the
/// adders, lengthens some runs only.
fn cycles_per_load(clock: Clock, clock_cost_ns: f64) -> Option<f64> {
    const PASSES: u64 = 800;
    const LOADS: Work = Work::of_loads(160 * LOADS_A_PASS);
    const MOMENTS: usize = 60;
    const RUNS_A_MOMENT: usize = 10;
    add_in_a_row(1)?;
    let ratio = |_| {
        let (mut additions_ns, mut loads_ns) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..RUNS_A_MOMENT {
            let run = run_ns(clock, || {
                add_in_a_row(PASSES);
            });
            additions_ns = additions_ns.min(run);
            loads_ns = loads_ns.min(run_ns(clock, || LOADS.run()));
        }
        let a_cycle = (additions_ns - clock_cost_ns) / (PASSES * ADDITIONS_A_PASS) as f64;
        (loads_ns - clock_cost_ns) / LOADS.loads() as f64 / a_cycle
    };
    usual_ratio((0..MOMENTS).map(ratio).collect())
}

/// Returns the median of the ratios; `None` if the middle half of them differs by more than a fiftieth.
///
/// The frequency may change within a moment, or an SMT sibling compete through all of it, but not in most.
fn usual_ratio(mut ratios: Vec<f64>) -> Option<f64> {
    const AGREE: f64 = 0.02;
    ratios.sort_by(f64::total_cmp);
    let at = |share: usize| ratios.get(ratios.len() * share / 4).copied();
    let (low, middle, high) = (at(1)?, at(2)?, at(3)?);
    (high - low <= AGREE * middle).then_some(middle)
}

/// Runs dependent additions of one register to another, which take one cycle each on every core of the last twenty
/// years.
///
/// Additions of constants are unsuitable, because some cores eliminate them in register renaming.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(never)]
fn add_in_a_row(passes: u64) -> Option<u64> {
    macro_rules! eight {
        ($add:literal) => {
            concat!($add, "\n", $add, "\n", $add, "\n", $add, "\n", $add, "\n", $add, "\n", $add, "\n", $add)
        };
    }
    let step = std::hint::black_box(3_u64);
    let mut sum = 0_u64;
    for _ in 0..passes {
        // SAFETY: the instructions change only `sum` and the flags.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            core::arch::asm!(
                eight!("add {sum}, {step}"), eight!("add {sum}, {step}"),
                eight!("add {sum}, {step}"), eight!("add {sum}, {step}"),
                sum = inout(reg) sum, step = in(reg) step, options(nomem, nostack)
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::asm!(
                eight!("add {sum}, {sum}, {step}"), eight!("add {sum}, {sum}, {step}"),
                eight!("add {sum}, {sum}, {step}"), eight!("add {sum}, {sum}, {step}"),
                sum = inout(reg) sum, step = in(reg) step, options(nomem, nostack)
            );
        }
    }
    Some(std::hint::black_box(sum))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn add_in_a_row(_passes: u64) -> Option<u64> {
    None
}

// The duration of a job, measured by many runs.

/// Number of runs of which the best is used.
pub const RUNS: usize = 100;

/// Returns the duration of `job` in nanoseconds, including the clock's own cost.
pub fn run_ns(clock: Clock, mut job: impl FnMut()) -> f64 {
    let start = clock.stamp();
    job();
    clock.to_ns(clock.stamp() - start)
}

/// Returns the durations of `count` runs of `job` in nanoseconds, sorted, including the clock's own cost.
pub fn runs(clock: Clock, count: usize, mut job: impl FnMut()) -> Vec<f64> {
    let mut took: Vec<f64> = (0..count).map(|_| run_ns(clock, &mut job)).collect();
    took.sort_by(f64::total_cmp);
    took
}

/// Returns the mean of the runs without interruptions, which are those within a few dozen nanoseconds of the median.
///
/// A counter that advances in steps does not bias a mean, but biases a minimum by up to one step. Excluding a fixed
/// share would remove a part of the upper of two adjacent steps.
pub fn undisturbed_mean(sorted: &[f64]) -> f64 {
    let limit = sorted[sorted.len() / 2] * 1.1 + 30.0;
    let kept = &sorted[..sorted.partition_point(|&ns| ns <= limit)];
    kept.iter().sum::<f64>() / kept.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_split_into_passes_and_single_loads() {
        assert_eq!(Work::of_loads(100), Work { passes: 3, rest: 4 });
        assert_eq!(Work::of_loads(100).loads(), 100);
        Work::of_loads(0).run();
    }

    #[test]
    fn all_runs_are_made_unless_one_is_below_the_limit() {
        let mut runs_made = 0;
        let mut best = |took: [f64; 5]| {
            let all = took.into_iter().inspect(|_| runs_made += 1);
            (best_unless_below(800.0, all), std::mem::take(&mut runs_made))
        };
        assert_eq!(best([900.0, 850.0, 801.0, 840.0, 990.0]), (801.0, 5));
        assert_eq!(best([900.0, 850.0, 700.0, 600.0, 500.0]), (700.0, 3));
    }

    #[test]
    fn negative_or_tiny_length_gives_no_work() {
        let grind = Grind { ns_per_load: 1.0, overhead_ns: 5.0, cycles_per_load: Some(4.0), search: Vec::new() };
        assert_eq!(grind.work(-1.0).loads(), 0);
        assert_eq!(grind.work(0.0).loads(), 0);
        assert_eq!(grind.work(105.0).loads(), 100);
        assert_eq!(grind.mhz(), Some(4_000.0));
    }

    /// Loads of five cycles, on a core that changes between 2.8 and 3.1 GHz, and for some pairs between both runs.
    #[test]
    fn cycles_of_a_load_do_not_depend_on_the_frequency() {
        let pair = |place: usize| {
            let ghz = |moment: usize| if moment % 40 < 25 { 2.8 } else { 3.1 };
            let interrupted = if place.is_multiple_of(17) { 1.3 } else { 1.0 };
            5.0 / ghz(place + 1) * ghz(place) * interrupted
        };
        let ratio = usual_ratio((0..200).map(pair).collect()).unwrap();
        assert!((ratio - 5.0).abs() < 1e-9, "{ratio}");
        // The best of each, at two moments, gives 4.5 cycles.
        assert!((5.0 / 3.1 * 2.8 - 4.52_f64).abs() < 0.01);
    }

    #[test]
    fn ratios_that_disagree_give_no_cycles() {
        assert_eq!(usual_ratio((0..200).map(|place| 4.5 + f64::from(place % 10) * 0.1).collect()), None);
        assert_eq!(usual_ratio(Vec::new()), None);
    }

    #[test]
    fn a_check_holds_within_one_percent_or_twenty_ns() {
        let check = |requested_ns, best_ns| Check { requested_ns, best_ns, median_ns: best_ns }.holds();
        assert!(check(100.0, 119.0) && !check(100.0, 121.0));
        assert!(check(10_000.0, 9_901.0) && !check(10_000.0, 9_899.0));
    }
}

#[cfg(test)]
mod measured {
    use super::*;
    use std::time::Duration;

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn longer_grinds_last_longer() {
        let clock = Clock::calibrate(Duration::from_millis(20)).clock;
        let grind = Grind::calibrate(clock, || false);
        let best = |ns| grind.check(clock, ns).best_ns;
        assert!(best(1_000.0) < best(10_000.0) && best(10_000.0) < best(100_000.0), "{grind:?}");
        assert!(grind.search.windows(2).all(|pair| pair[0].loads < pair[1].loads));
        let (last, before) = grind.search.split_last().unwrap();
        assert!(last.best_ns > SEARCH_UNTIL_NS && before.iter().all(|other| other.best_ns <= SEARCH_UNTIL_NS));
    }
}
