//! From figures to gains, with their intervals.

use super::correct::{Figure, Ran};
use super::locks::Found;
use super::record::{Slope, Verdict, WhatIf, WhatIfRow};
use super::sides::{Figures, NOTHING_SHORTER, PLAIN, Side};
use crate::trace::swap::plan::Plan;
use crate::trace::swap::ratios::ratio as ratio_of;
use instruments::statistics::{Interval, Ratio, order};
use record::Unit;

/// What the method itself may put in or take away: a gain whose interval reaches this is none shown.
const OWN_ERROR: f64 = 0.02;
const RESAMPLES: usize = 1_000;
/// A median has an interval from so many on.
const FEWEST: usize = 6;

/// Which metric, as the rows say it.
fn metric(plan: &Plan, place: usize) -> (String, Unit, bool) {
    match place.checked_sub(1).and_then(|own| plan.metrics.get(own)) {
        Some(own) => (own.pattern.name.clone(), Unit::Number, own.higher_is_better),
        None => ("wall time".to_owned(), Unit::Ns, false),
    }
}

/// A gain of a ratio: of a time the part that is saved, of a rate the part that it is higher.
fn gain_of(ratio: f64, higher_is_better: bool) -> f64 {
    if higher_is_better { ratio - 1.0 } else { 1.0 - ratio }
}

/// A row for each metric of the program as it is, then of each lock's shares; nothing shorter stands with each.
pub fn rows(plan: &Plan, found: &Found, sides: &[Side], all: &[Vec<Figures>], seed: u64) -> Vec<WhatIfRow> {
    let mut rows = Vec::new();
    for place in 0..=plan.metrics.len() {
        rows.push(row(plan, None, &sides[PLAIN], place, all, seed));
        for (number, lock) in found.tried.iter().enumerate() {
            let own =
                sides.iter().skip(NOTHING_SHORTER).filter(|side| side.place == NOTHING_SHORTER || side.lock == number);
            rows.extend(own.map(|side| row(plan, Some(&lock.name), side, place, all, seed)));
        }
    }
    rows
}

fn row(plan: &Plan, lock: Option<&str>, side: &Side, place: usize, all: &[Vec<Figures>], seed: u64) -> WhatIfRow {
    let (metric, unit, higher_is_better) = metric(plan, place);
    let Figures { values, without_waits, uncorrected } = all[side.place][place].clone();
    let is_baseline = side.place <= NOTHING_SHORTER;
    let ratio = ratio_of(&values, &all[NOTHING_SHORTER][place].values, seed).filter(|_| !is_baseline);
    let interval = |ratio: Ratio| {
        let [a, b] = [ratio.interval.low, ratio.interval.high].map(|end| gain_of(end, higher_is_better));
        Interval::new(a.min(b), a.max(b))
    };
    let gain_ci = ratio.map(interval);
    // What is gained by waiting less for CPUs alone is an estimate of an estimate.
    let sure = ratio_of(&without_waits, &all[NOTHING_SHORTER][place].without_waits, seed).map(interval);
    let limited = side.ran.iter().filter(|ran| ran.is_limited_by_cpus()).count();
    WhatIfRow {
        what_if: lock.map(|lock| WhatIf { lock: lock.to_owned(), shorter_share: side.share }),
        metric,
        unit,
        higher_is_better,
        runs: values.len() as u64,
        median: order::median(&values),
        ci: order::sample_quantile_interval(&values, 0.5, 0.95),
        gain: ratio.map(|ratio| gain_of(ratio.estimate, higher_is_better)),
        gain_ci,
        verdict: verdict(side, gain_ci, sure),
        limited_by_cpus_share: limited as f64 / side.ran.len().max(1) as f64,
        values,
        uncorrected,
    }
}

fn verdict(side: &Side, gain: Option<Interval>, sure: Option<Interval>) -> Verdict {
    match gain.zip(sure) {
        _ if side.failed.is_some() => Verdict::Failed,
        _ if side.place <= NOTHING_SHORTER => Verdict::Baseline,
        None => Verdict::NotJudged,
        Some((gain, sure)) if gain.low.min(sure.low) > OWN_ERROR => Verdict::Gain,
        Some((gain, sure)) if gain.high.max(sure.high) < -OWN_ERROR => Verdict::Loss,
        Some(_) => Verdict::NoneShown,
    }
}

/// The slopes of all locks and metrics for which there are runs enough.
pub fn slopes(plan: &Plan, found: &Found, sides: &[Side], all: &[Vec<Figures>], seed: u64) -> Vec<Slope> {
    let of = |place: usize, number: usize| {
        let (metric, _, higher_is_better) = metric(plan, place);
        let own = sides.iter().filter(|side| side.place > NOTHING_SHORTER && side.lock == number);
        let points: Vec<(f64, &[f64])> = own.map(|side| (side.share, &all[side.place][place].values[..])).collect();
        let base = &all[NOTHING_SHORTER][place].values;
        let (slope, slope_ci) = slope(&points, base, higher_is_better, seed)?;
        Some(Slope { lock: found.tried[number].name.clone(), metric, slope, slope_ci })
    };
    let places = 0..=plan.metrics.len();
    places.flat_map(|place| (0..found.tried.len()).filter_map(move |number| of(place, number))).collect()
}

/// The gain by the share, by least squares through nothing; its interval from runs drawn again.
fn slope(points: &[(f64, &[f64])], base: &[f64], higher_is_better: bool, seed: u64) -> Option<(f64, Interval)> {
    if base.len() < FEWEST || points.iter().any(|(_, values)| values.len() < FEWEST) {
        return None;
    }
    let line = |medians: &dyn Fn(&[f64]) -> f64| {
        let base = medians(base);
        let gain = |values: &[f64]| gain_of(medians(values) / base, higher_is_better);
        let over: f64 = points.iter().map(|(share, values)| share * gain(values)).sum();
        over / points.iter().map(|(share, _)| share * share).sum::<f64>()
    };
    let median = |values: &[f64]| order::median(values).unwrap_or(f64::NAN);
    let random = std::cell::RefCell::new(fastrand::Rng::with_seed(seed));
    let drawn = |values: &[f64]| {
        let mut random = random.borrow_mut();
        median(&values.iter().map(|_| values[random.usize(..values.len())]).collect::<Vec<f64>>())
    };
    let mut again: Vec<f64> = (0..RESAMPLES).map(|_| line(&drawn)).collect();
    again.sort_by(f64::total_cmp);
    let end = |share: f64| again[((RESAMPLES - 1) as f64 * share) as usize];
    Some((line(&median), Interval::new(end(0.025), end(0.975))))
}

/// The time with the library and nothing shorter, over the plain one.
pub fn library_ratio(all: &[Vec<Figures>]) -> Option<f64> {
    Some(order::median(&all[NOTHING_SHORTER][0].uncorrected)? / order::median(&all[PLAIN][0].values)?)
}

/// With nothing shorter all that is in the lags are waits for CPUs.
pub fn waits_for_cpus_share(nothing_shorter: &[Ran]) -> Option<f64> {
    let waited = |ran: &Ran| 1.0 - ran.along_s(Figure::Wall) / ran.wall_s;
    order::median(&nothing_shorter.iter().map(waited).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_is_the_gain_by_the_share() {
        let base = [100.0, 101.0, 99.0, 100.0, 100.0, 100.0];
        let shorter = |by: f64| base.map(|value| value * (1.0 - by));
        let sides = [(0.5, shorter(0.2)), (1.0, shorter(0.4))];
        let points: Vec<(f64, &[f64])> = sides.iter().map(|(share, values)| (*share, &values[..])).collect();
        let (slope, ci) = slope(&points, &base, false, 1).unwrap();
        assert!((slope - 0.4).abs() < 1e-12 && ci.contains(0.4) && ci.width() < 0.05, "{slope} {ci:?}");
        assert_eq!(super::slope(&points, &base[..5], false, 1), None);
    }

    #[test]
    fn a_gain_is_saved_time_or_a_higher_rate() {
        assert_eq!((gain_of(0.75, false), gain_of(1.5, true), gain_of(1.25, false)), (0.25, 0.5, -0.25));
    }
}
