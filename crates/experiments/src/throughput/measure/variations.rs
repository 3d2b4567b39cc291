//! Held time by child, throughput by step, and recoveries: the values of a cell's runs beyond those of ulockflex.

use super::super::plan::CellPlan;
use super::super::record::{Step, coefficient_of_variation};
use crate::estimates::median_of;
use instruments::clock::Clock;
use instruments::statistics::Thinned;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::median;
use loops::throughput::{ChildCounters, MOST_STEPS, PARTS, Ramp, Stop, Variations};
use std::time::Duration;

/// Parts of a run over which a throughput is taken.
const WINDOW: usize = 5;
/// The throughput has recovered when it is at this multiple of that before the stop.
const RECOVERED: f64 = 0.9;

/// Values of the runs.
#[derive(Default)]
pub struct Observed {
    held_cov: Thinned<f64>,
    held_least: Thinned<f64>,
    held_most: Thinned<f64>,
    held_long: Thinned<f64>,
    steps: Vec<Thinned<f64>>,
    recoveries_ns: Thinned<f64>,
    failed: u64,
    stops: u64,
    curve: Vec<Thinned<f64>>,
}

/// The spans of a run.
#[derive(Clone, Copy)]
pub struct Times {
    pub ramp_up: Duration,
    pub counting: Duration,
}

impl Times {
    fn step(&self, children: usize) -> Duration {
        self.counting / Ramp::steps(children) as u32
    }

    fn part(&self) -> Duration {
        (self.ramp_up + self.counting) / PARTS as u32
    }

    /// Returns the variations of the loop, in the clock's ticks.
    pub fn variations(&self, plan: &CellPlan, clock: Clock) -> Option<Variations> {
        let asked = plan.variations;
        let (begins, ticks) = (clock.ticks_in(self.ramp_up), |span| clock.ticks_in(span));
        let ramp = asked.ramp.then(|| Ramp { children: plan.children, begins, step: ticks(self.step(plan.children)) });
        let stop = (asked.stop_us > 0.0).then(|| Stop {
            at: ticks(self.ramp_up + self.counting / 4),
            length: Duration::from_nanos((asked.stop_us * 1e3) as u64),
            part: ticks(self.part()),
        });
        asked.needs_own_loop().then_some(Variations { ramp, stop })
    }
}

impl Observed {
    /// Takes the held times of a run with timestamps.
    pub fn add_held<'a>(&mut self, plan: &CellPlan, children: impl Iterator<Item = &'a ChildCounters>) {
        let held: Vec<u64> = children.map(|child| child.held_ticks).collect();
        let all = held.iter().sum::<u64>() as f64;
        if all == 0.0 {
            return;
        }
        let share = |ticks: Option<&u64>| ticks.map_or(0.0, |&ticks| ticks as f64 / all);
        self.held_cov.push(coefficient_of_variation(&held));
        self.held_least.push(share(held.iter().min()));
        self.held_most.push(share(held.iter().max()));
        if plan.variations.hold_ratio > 1 {
            self.held_long.push(held.iter().skip(1).step_by(2).sum::<u64>() as f64 / all);
        }
    }

    /// Takes the steps of a counted run.
    pub fn add_steps(&mut self, children: &[&ChildCounters], times: Times) {
        let steps = Ramp::steps(children.len()).min(MOST_STEPS);
        self.steps.resize_with(steps, Thinned::default);
        let step_s = times.step(children.len()).as_secs_f64();
        for (step, values) in self.steps.iter_mut().enumerate() {
            values.push(children.iter().map(|child| child.steps.0[step]).sum::<u64>() as f64 / step_s);
        }
    }

    /// Takes the stop of a counted run; `stop` is its begin and its end in nanoseconds after the common start.
    pub fn add_stop(&mut self, children: &[&ChildCounters], times: Times, stop: (f64, f64)) {
        let parts: Vec<u64> = (0..PARTS).map(|part| children.iter().map(|child| child.parts.0[part]).sum()).collect();
        let part_ns = times.part().as_nanos() as f64;
        let counts_from = (times.ramp_up.as_nanos() as f64 / part_ns).ceil() as usize;
        let Some(recovery) = recovery(&parts, counts_from, part_ns, stop) else { return };
        self.stops += 1;
        match recovery.after_ns {
            Some(ns) => self.recoveries_ns.push(ns),
            None => self.failed += 1,
        }
        let windows = self.curve.len().max(recovery.curve.len());
        self.curve.resize_with(windows, Thinned::default);
        self.curve.iter_mut().zip(recovery.curve).for_each(|(values, value)| values.push(value));
    }

    pub fn held_cov(&self) -> Option<f64> {
        median(&self.held_cov)
    }

    pub fn held_least(&self) -> Option<f64> {
        median(&self.held_least)
    }

    pub fn held_most(&self) -> Option<f64> {
        median(&self.held_most)
    }

    pub fn held_long(&self) -> Option<f64> {
        median(&self.held_long)
    }

    pub fn steps(&self, children: usize) -> Vec<Step> {
        let step = |(step, values): (usize, &Thinned<f64>)| {
            let loops = median_of(values)?;
            let children = Ramp::active(children, step);
            Some(Step { children, throughput_per_s: loops.value, throughput_ci: loops.interval })
        };
        self.steps.iter().enumerate().filter_map(step).collect()
    }

    pub fn recovery_ns(&self) -> Option<Estimate> {
        median_of(&self.recoveries_ns)
    }

    /// Returns the part of the runs that did not recover; `None` without a stop.
    pub fn failed_share(&self) -> Option<f64> {
        (self.stops > 0).then(|| self.failed as f64 / self.stops as f64)
    }

    pub fn curve(&self) -> Vec<f64> {
        self.curve.iter().filter_map(|values| median(values)).collect()
    }
}

/// Returns the length of the windows of [`Observed::curve`] in nanoseconds.
pub fn window_ns(times: Times) -> f64 {
    times.part().as_nanos() as f64 * WINDOW as f64
}

struct Recovery {
    /// `None` if the run ended before.
    after_ns: Option<f64>,
    curve: Vec<f64>,
}

/// Returns the recovery from a stop, by the rounds in each part of a run; `None` if there is nothing to compare with.
fn recovery(parts: &[u64], counts_from: usize, part_ns: f64, (stopped, resumed): (f64, f64)) -> Option<Recovery> {
    let before = parts.get(counts_from..(stopped / part_ns) as usize)?;
    let after = parts.get((resumed / part_ns).ceil() as usize..)?;
    let usual = before.iter().sum::<u64>() as f64 / before.len() as f64 * WINDOW as f64;
    if before.len() < WINDOW || after.len() < WINDOW || usual == 0.0 {
        return None;
    }
    let relative = |window: &[u64]| window.iter().sum::<u64>() as f64 / usual;
    let recovered = after.windows(WINDOW).position(|window| relative(window) >= RECOVERED);
    Some(Recovery {
        after_ns: recovered.map(|part| part as f64 * part_ns),
        curve: after.chunks_exact(WINDOW).map(relative).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the recovery after 20 parts with 10 rounds each, a stop of 10 parts, and then those.
    fn stopped(after: &[u64]) -> Option<Recovery> {
        let parts: Vec<u64> = [10; 20].into_iter().chain([0; 10]).chain(after.iter().copied()).collect();
        recovery(&parts, 2, 100.0, (2_000.0, 3_000.0))
    }

    #[test]
    fn recovery_at_once_takes_no_time() {
        let found = stopped(&[10; 20]).unwrap();
        assert_eq!(found.after_ns, Some(0.0));
        assert_eq!(found.curve, [1.0; 4]);
    }

    #[test]
    fn convoy_lasts_until_the_throughput_is_back() {
        let found = stopped(&[[5; 10], [10; 10]].concat()).unwrap();
        // The window with four parts of 10 and one of 5 has 0.9.
        assert_eq!(found.after_ns, Some(900.0));
        assert_eq!(found.curve, [0.5, 0.5, 1.0, 1.0]);
        assert_eq!(stopped(&[5; 20]).unwrap().after_ns, None);
    }

    #[test]
    fn run_without_rounds_before_the_stop_says_nothing() {
        assert!(recovery(&[0; 40], 2, 100.0, (2_000.0, 3_000.0)).is_none());
        assert!(stopped(&[10; 3]).is_none());
    }

    #[test]
    fn held_time_is_shared_by_child() {
        let children = [1_u64, 3].map(|held_ticks| ChildCounters { held_ticks, ..ChildCounters::default() });
        let plan = CellPlan {
            lock: "std".into(),
            children: 2,
            processes: false,
            locks: 1,
            nonhold_ns: 0.0,
            hold_ns: 1e3,
            share: 0,
            variations: crate::throughput::conditions::Variations { hold_ratio: 3, ..Default::default() },
        };
        let mut observed = Observed::default();
        observed.add_held(&plan, children.iter());
        assert_eq!((observed.held_least(), observed.held_most()), (Some(0.25), Some(0.75)));
        assert_eq!((observed.held_long(), observed.held_cov()), (Some(0.75), Some(0.5)));
    }
}
