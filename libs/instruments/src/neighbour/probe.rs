//! The probe: two loops, three times each, and their durations.

use super::loops;
use crate::clock::{Clock, quality};
use crate::cpus::current_cpu;
use crate::statistics::comparison::Estimate;
use crate::statistics::order::{median, sample_quantile_interval};
use crate::statistics::ranks::rank_correlation;
use crate::statistics::summary::CONFIDENCE;

/// The result of one probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// CPU on which it was taken.
    pub cpu: u16,
    /// Cycles of the core per iteration of the width loop: more if the core was shared.
    pub cycles: f32,
    /// Cycles of the core per nanosecond: its frequency in GHz.
    pub cycles_per_ns: f32,
}

/// A generator of [`Reading`]s; `Copy`, so that every thread has its own.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    clock: Clock,
    width_rounds: u32,
    latency_rounds: u32,
    /// Duration of the two timestamps around a loop without the loop, in ticks.
    empty_ticks: f64,
    cost_ns: f64,
    step_ns: f64,
}

/// Number of iterations, which take a quarter and half a microsecond at 3 GHz; an SMT sibling's active periods are
/// far longer.
const WIDTH_ROUNDS: u32 = 200;
const LATENCY_ROUNDS: u32 = 150;
/// Least duration of a loop in steps of the clock, so that the step does not hide its length.
const LEAST_STEPS: f64 = 60.0;
/// Number of repetitions, of which the median counts: the first may find cold caches, and one may be interrupted.
const REPEATS: usize = 3;
const CALIBRATION_PROBES: usize = 101;

impl Probe {
    /// Adapts the loops to the clock on the calling thread, in about ten milliseconds. `None` if there are no loops
    /// for the architecture.
    pub fn calibrate(clock: Clock) -> Option<Self> {
        if !loops::IS_KNOWN {
            return None;
        }
        let quality = quality(clock);
        let (width_rounds, latency_rounds, step_ns) = (WIDTH_ROUNDS, LATENCY_ROUNDS, quality.resolution_ns);
        let mut probe = Self { clock, width_rounds, latency_rounds, empty_ticks: 0.0, cost_ns: 0.0, step_ns };
        probe.empty_ticks = median_of(CALIBRATION_PROBES, || probe.timed(|| ()));
        let width_ticks = median_of(CALIBRATION_PROBES, || probe.timed(|| loops::width(WIDTH_ROUNDS)));
        let longer = (LEAST_STEPS * quality.resolution_ticks as f64 / width_ticks.max(1.0)).ceil().max(1.0) as u32;
        probe.width_rounds *= longer;
        probe.latency_rounds *= longer;
        probe.cost_ns = median_of(CALIBRATION_PROBES, || probe.timed(|| _ = std::hint::black_box(probe.take())))
            * clock.ns_per_tick();
        Some(probe)
    }

    /// Returns a probe with loops that are longer by this factor, to validate short probes.
    pub fn longer(mut self, times: u32) -> Self {
        self.width_rounds *= times;
        self.latency_rounds *= times;
        self.cost_ns *= f64::from(times);
        self
    }

    /// Returns the duration of taking a reading, in nanoseconds.
    pub fn cost_ns(&self) -> f64 {
        self.cost_ns
    }

    /// Returns the step in which its clock advances, in nanoseconds.
    pub fn step_ns(&self) -> f64 {
        self.step_ns
    }

    /// Probes the core on which the calling thread runs.
    pub fn take(&self) -> Reading {
        let (mut width, mut latency) = ([0.0; REPEATS], [0.0; REPEATS]);
        for (width, latency) in width.iter_mut().zip(&mut latency) {
            *latency = self.timed(|| loops::latency(self.latency_rounds)) - self.empty_ticks;
            *width = self.timed(|| loops::width(self.width_rounds)) - self.empty_ticks;
        }
        let ticks_per_cycle = median_of_three(latency) / f64::from(self.latency_rounds) / loops::LATENCY_CYCLES;
        Reading {
            cpu: current_cpu() as u16,
            cycles: (median_of_three(width) / f64::from(self.width_rounds) / ticks_per_cycle) as f32,
            cycles_per_ns: (1.0 / (ticks_per_cycle * self.clock.ns_per_tick())) as f32,
        }
    }

    #[inline(always)]
    fn timed(&self, work: impl FnOnce()) -> f64 {
        let began = self.clock.stamp();
        work();
        (self.clock.stamp() - began) as f64
    }
}

fn median_of_three(mut values: [f64; REPEATS]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[1]
}

fn median_of(count: usize, mut sample: impl FnMut() -> f64) -> f64 {
    let mut samples: Vec<f64> = (0..count).map(|_| sample()).collect();
    samples.sort_unstable_by(f64::total_cmp);
    samples[count / 2]
}

/// The probes of a period of time on one CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probed {
    /// The CPU.
    pub cpu: u16,
    /// Least number of cycles per iteration of the width loop.
    pub least: f32,
    /// Largest number of cycles per iteration of the width loop.
    pub most: f32,
    /// Cycles per nanosecond: the mean of two probes; for more probes, later ones have a larger weight.
    pub cycles_per_ns: f32,
}

/// The use of a core: exclusive, or shared with another hardware thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All probes found the core at its full width.
    Alone,
    /// All probes found it narrower.
    Shared,
    /// The probes differ, or are not clear.
    Neither,
}

impl Probed {
    /// Returns the period of a single probe.
    pub fn at(reading: Reading) -> Self {
        let Reading { cpu, cycles, cycles_per_ns } = reading;
        Self { cpu, least: cycles, most: cycles, cycles_per_ns }
    }

    /// Returns the period between a probe before and one after.
    pub fn between(before: Reading, after: Reading) -> Self {
        Self::at(before).and(after)
    }

    /// Returns this period with one more probe.
    pub fn and(self, reading: Reading) -> Self {
        self.with(Self::at(reading))
    }

    /// Returns this period with the probes of another one.
    pub fn with(self, later: Self) -> Self {
        Self {
            least: self.least.min(later.least),
            // A thread that moved has no single CPU: no probe covers the whole period.
            most: if later.cpu == self.cpu { self.most.max(later.most) } else { f32::INFINITY },
            cycles_per_ns: (self.cycles_per_ns + later.cycles_per_ns) / 2.0,
            cpu: later.cpu,
        }
    }
}

/// The medians of values, separated by the use of the core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// Median with the core exclusive; `None` for too few values.
    pub alone: Option<Estimate>,
    /// Median with the core shared; `None` for too few values.
    pub shared: Option<Estimate>,
    /// Share of values with the core shared, among those that are known to be one or the other; `None` without any.
    pub shared_share: Option<f64>,
    /// Rank correlation (Spearman's) of the values with sharing, from -1 to 1; `None` if all were of one kind.
    pub correlation: Option<f64>,
}

/// Least number of values with an interval at 95 %.
const FEWEST: usize = 6;

impl Split {
    /// Separates windows, each with values that depend on each other: a window counts once on each side, with its
    /// median.
    pub fn of_turns<V: IntoIterator<Item = (f64, Sharing)>>(windows: impl IntoIterator<Item = V>) -> Self {
        let (mut alone, mut shared) = (Vec::new(), Vec::new());
        let (mut alone_values, mut shared_values) = (0, 0);
        let (mut all, mut kinds) = (Vec::new(), Vec::new());
        for window in windows {
            let values: Vec<(f64, Sharing)> = window.into_iter().collect();
            let of = |kind_of_use| {
                values.iter().filter(|(_, sharing)| *sharing == kind_of_use).map(|(value, _)| *value).collect()
            };
            let [alone_in_window, shared_in_window]: [Vec<f64>; 2] = [of(Sharing::Alone), of(Sharing::Shared)];
            alone.extend(median(&alone_in_window));
            shared.extend(median(&shared_in_window));
            alone_values += alone_in_window.len();
            shared_values += shared_in_window.len();
            for (values, kind) in [(alone_in_window, 0.0), (shared_in_window, 1.0)] {
                kinds.extend(values.iter().map(|_| kind));
                all.extend(values);
            }
        }
        let classified = alone_values + shared_values;
        Self {
            alone: estimate(&alone),
            shared: estimate(&shared),
            shared_share: (classified > 0).then(|| shared_values as f64 / classified as f64),
            correlation: rank_correlation(&all, &kinds),
        }
    }

    /// Separates values that took about the same time each, and do not depend on each other.
    pub fn of(values: impl IntoIterator<Item = (f64, Sharing)>) -> Self {
        Self::of_turns(values.into_iter().map(std::iter::once))
    }
}

fn estimate(values: &[f64]) -> Option<Estimate> {
    let enough = values.len() >= FEWEST;
    enough.then(|| Some(Estimate::new(median(values)?, sample_quantile_interval(values, 0.5, CONFIDENCE))))?
}
