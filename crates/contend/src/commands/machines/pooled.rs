//! The value of a machine over its records, with an interval where `contend compare` would judge it.

use crate::commands::compare::{General, OtherRuns, in_general, needed_runs};
use instruments::statistics::Interval;
use instruments::statistics::comparison::{Estimate, FarthestApart, RunToRun, compare};
use record::{Cell, Metric, Unit, VariationSource};

/// Half of the width of a 95 % interval of a normal distribution, in standard deviations.
const DEVIATIONS: f64 = 1.959_964;

/// A value of one record.
#[derive(Clone, Copy)]
pub struct Run {
    pub estimate: Estimate,
    pub variation: VariationSource,
    /// Whether a record of the machine was disturbed.
    pub is_disturbed: bool,
}

/// The value of a machine over its records.
#[derive(Clone, Copy)]
pub struct Pooled {
    pub value: f64,
    /// The 95 % interval, which includes the variation between runs; `None` where the value cannot be judged.
    pub interval: Option<Interval>,
    pub runs: usize,
}

impl Pooled {
    pub fn scaled(self, by: f64) -> Self {
        Self { value: self.value * by, interval: self.interval.map(|ends| ends.scaled(by)), ..self }
    }

    /// Writes the value with its interval.
    pub fn words(&self, unit: Unit) -> String {
        unit.words_with(self.value, self.interval)
    }
}

/// Returns the largest distance between runs of one machine, as a logarithm.
pub fn farthest_apart(all: &[Vec<Run>]) -> FarthestApart {
    FarthestApart::of(&estimates(all))
}

/// Returns the runs of each machine that can be compared: a share of 0 has no logarithm.
fn estimates(all: &[Vec<Run>]) -> Vec<Vec<Estimate>> {
    let of = |set: &Vec<Run>| set.iter().map(|run| run.estimate).filter(|estimate| estimate.value > 0.0).collect();
    all.iter().map(of).collect()
}

/// Returns a machine's value over its runs, with the variation between runs that all machines show.
///
/// `of_kind` is the largest distance between runs in any value of the same variation.
pub fn pooled(unit: Unit, own: &[Run], all: &[Vec<Run>], of_kind: f64) -> Option<Pooled> {
    let runs = own.len();
    let mean = |of: &dyn Fn(f64) -> f64| own.iter().map(|run| of(run.estimate.value)).sum::<f64>() / runs as f64;
    if own.is_empty() {
        return None;
    }
    if own.iter().any(|run| run.estimate.value <= 0.0) {
        // A share of 0 has no logarithm.
        return Some(Pooled { value: mean(&|value| value), interval: None, runs });
    }
    let value = mean(&f64::ln).exp();
    Some(Pooled { value, interval: interval(unit, value, own, all, of_kind), runs })
}

fn interval(unit: Unit, value: f64, own: &[Run], all: &[Vec<Run>], of_kind: f64) -> Option<Interval> {
    let sets = estimates(all);
    let count = own.len() as f64;
    let known_runs = sets.iter().map(Vec::len).filter(|runs| *runs > 1).sum::<usize>();
    let lacks_interval = own.iter().any(|run| run.estimate.interval.is_none());
    let is_short =
        |run: &Run| needed_runs(run.variation, lacks_interval).is_some_and(|(needed, _)| known_runs < needed);
    if own.iter().any(is_short) {
        return None;
    }
    let error = |run: &Run| Estimate { resolution: 0.0, ..run.estimate }.error();
    let errors: Vec<f64> = own.iter().map(error).filter(|error| error.is_finite()).collect();
    if errors.is_empty() {
        return None;
    }
    let within = (errors.iter().map(|error| error.powi(2)).sum::<f64>() / errors.len() as f64 / count).sqrt();
    let interval = Interval::new(value * (-DEVIATIONS * within).exp(), value * (DEVIATIONS * within).exp());
    let wider = own.iter().map(|run| general(unit, value, run));
    let General { run_to_run, weight } =
        wider.max_by(|one, other| one.run_to_run.deviation.total_cmp(&other.run_to_run.deviation))?;
    let RunToRun { deviation, degrees } = run_to_run.learned(weight, &sets);
    // A comparison counts the variation of both sides, and here one side is a constant.
    let run_to_run = RunToRun { deviation: deviation / (2.0 * count).sqrt(), degrees };
    let resolution = own.iter().map(|run| run.estimate.resolution).fold(0.0, f64::max);
    let estimate = Estimate { value, interval: Some(interval), resolution };
    let interval = compare(&Estimate::from(1.0), &estimate, run_to_run)?.interval;
    // Two single runs of the same may be this far apart, so each side of a ratio is off by this, and a mean by less.
    let other_runs = OtherRuns { count: known_runs, farthest_apart: FarthestApart::of(&sets), of_kind };
    let normal = own.iter().map(|run| other_runs.normal_distance(run.variation, lacks_interval)).fold(0.0, f64::max);
    let reach = (normal / (2.0 * count).sqrt()).exp();
    let interval = Interval::new(interval.low.min(value / reach), interval.high.max(value * reach));
    Some(interval).filter(|ends| ends.low > 0.0 && ends.high.is_finite())
}

/// Returns the general variation between runs of a value, as `contend compare` assumes it.
fn general(unit: Unit, value: f64, run: &Run) -> General {
    let metric =
        Metric { unit, variation: run.variation, ..Metric::time(&Cell::of([]), "", value, run.estimate.interval) };
    let General { run_to_run, weight } = in_general(&metric, run.is_disturbed);
    if run.variation != VariationSource::Others || unit != Unit::Ns {
        return General { run_to_run, weight };
    }
    // The lost share varies, and not the work. The time of the work is in proportion to 1 / (1 - lost), so its
    // logarithm changes by lost / (1 - lost) times the change of the share's logarithm.
    let lost = (1.0 - 1e9 / value).clamp(0.0, 1.0);
    let deviation = run_to_run.deviation * lost / (1.0 - lost);
    General { run_to_run: RunToRun { deviation, ..run_to_run }, weight }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(value: f64, interval: Option<(f64, f64)>, variation: VariationSource) -> Run {
        let interval = interval.map(|(low, high)| Interval::new(low, high));
        Run { estimate: Estimate::new(value, interval), variation, is_disturbed: false }
    }

    fn interval_of(unit: Unit, own: &[Run], others: &[Run]) -> Option<Interval> {
        let all = [own.to_vec(), others.to_vec()];
        pooled(unit, own, &all, farthest_apart(&all).all).unwrap().interval
    }

    #[test]
    fn values_are_judged_where_compare_judges_them() {
        let certain = [90.0, 91.0, 92.0, 93.0].map(|ns| run(ns, None, VariationSource::Operation));
        let limit = certain.map(|run| Run { variation: VariationSource::Limit, ..run });
        for runs in [certain, limit] {
            assert_eq!(interval_of(Unit::Ns, &runs[..1], &runs[1..2]), None);
            assert!(interval_of(Unit::Ns, &runs, &runs[..1]).is_some());
        }
        let known = run(90.0, Some((89.0, 91.0)), VariationSource::Elapsed);
        let ends = interval_of(Unit::Ns, &[known], &[]).unwrap();
        let disturbed = interval_of(Unit::Ns, &[Run { is_disturbed: true, ..known }], &[]).unwrap();
        assert!(disturbed.low < ends.low && disturbed.high > ends.high, "{disturbed:?} {ends:?}");
        let coarse = Run { estimate: Estimate { resolution: 40.0, ..known.estimate }, ..known };
        let coarse = interval_of(Unit::Ns, &[coarse], &[]).unwrap();
        assert!(coarse.low < ends.low && coarse.high > ends.high, "{coarse:?} {ends:?}");
    }

    /// `contend compare` calls two such runs normal; a machine with the far one was once shown to be worse.
    #[test]
    fn machines_that_differ_like_runs_of_one_are_not_distinguished() {
        let runs = |values: &[f64]| -> Vec<Run> {
            values.iter().map(|ns| run(*ns, Some((ns * 0.999, ns * 1.001)), VariationSource::Operation)).collect()
        };
        let one = runs(&[100.0, 100.5, 101.0, 100.2, 100.4, 100.1, 100.3, 125.0]);
        let other = runs(&[124.0]);
        let (near, far) = (interval_of(Unit::Ns, &other, &one).unwrap(), interval_of(Unit::Ns, &one, &other).unwrap());
        assert!(near.low < far.high, "{near:?} {far:?}");
        let slow = runs(&[300.0]);
        let (slow, fast) = (interval_of(Unit::Ns, &slow, &one).unwrap(), interval_of(Unit::Ns, &one, &slow).unwrap());
        assert!(slow.low > fast.high, "{slow:?} {fast:?}");
    }

    #[test]
    fn zero_teaches_no_variation() {
        let share = |value: f64| run(value, Some((value * 0.9, value * 1.1)), VariationSource::Others);
        let with_zero = [share(0.01), share(0.04), share(0.0)];
        let own = [share(0.02), share(0.03)];
        assert_eq!(interval_of(Unit::Share, &own, &with_zero), interval_of(Unit::Share, &own, &with_zero[..2]));
        assert_eq!(interval_of(Unit::Share, &with_zero, &own), None);
        let from_zero = run(0.01, Some((0.0, 0.02)), VariationSource::Others);
        assert_eq!(interval_of(Unit::Share, &[from_zero], &own), None);
    }

    /// A share of 0.5 that is a hundredth larger makes the work a hundredth longer.
    #[test]
    fn time_of_work_varies_with_the_lost_share() {
        let work = run(2e9, Some((2e9, 2e9)), VariationSource::Others);
        let share = run(0.5, Some((0.5, 0.5)), VariationSource::Others);
        assert_eq!(general(Unit::Ns, 2e9, &work), general(Unit::Share, 0.5, &share));
    }
}
