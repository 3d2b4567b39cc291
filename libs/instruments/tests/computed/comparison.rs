//! Runs of the same configuration are not called different, runs of different ones are.
use fastrand::Rng;
use instruments::statistics::Interval;
use instruments::statistics::comparison::{Comparison, Estimate, RunToRun, compare, farthest_apart};
use instruments::statistics::discovery::discoveries;
use proptest::prelude::*;

const CELLS: usize = 12;
const WITHIN: f64 = 0.01;

fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// Returns a run's value: the truth, times the effect of this run, times the error of its measurement, with a correct
/// interval.
fn run(truth: f64, between: f64, rng: &mut Rng) -> Estimate {
    let value = truth * (between * normal(rng) + WITHIN * normal(rng)).exp();
    let reach = (1.96 * WITHIN).exp();
    Estimate { value, interval: Some(Interval::new(value / reach, value * reach)), resolution: 0.0 }
}

fn figure(value: f64, low: f64, high: f64, resolution: f64) -> Estimate {
    Estimate { value, interval: Some(Interval::new(low, high)), resolution }
}

/// Returns the share of the configurations of many pairs of runs that are called different.
fn share_called(pairs: usize, mut pair: impl FnMut(&mut Rng) -> Comparison) -> f64 {
    let mut rng = Rng::with_seed(20);
    let mut called = 0;
    for _ in 0..pairs {
        let p: Vec<f64> = (0..CELLS).map(|_| pair(&mut rng).p).collect();
        called += discoveries(&p, 0.05).iter().filter(|called| **called).count();
    }
    called as f64 / (pairs * CELLS) as f64
}

#[test]
fn equal_runs_are_called_different_at_most_once_in_twenty() {
    let prior = RunToRun { deviation: 0.02, degrees: 4.0 };
    // The scatter between runs is the general one, or three times that, which only other runs can show.
    for (between, further_runs) in [(0.02, 0), (0.02, 4), (0.06, 6), (0.0, 4)] {
        let share = share_called(200, |rng| {
            let set: Vec<Estimate> = (0..further_runs).map(|_| run(1e3, between, rng)).collect();
            compare(&run(1e3, between, rng), &run(1e3, between, rng), prior.learned(prior.degrees, &[set])).unwrap()
        });
        assert!(share <= 0.05, "{between} between runs, {further_runs} further runs: {share}");
    }
}

#[test]
fn a_tenth_more_is_found() {
    let prior = RunToRun { deviation: 0.01, degrees: 8.0 };
    let share = share_called(50, |rng| compare(&run(1e3, 0.01, rng), &run(1.1e3, 0.01, rng), prior).unwrap());
    assert!(share > 0.9, "{share}");
}

#[test]
fn intervals_of_the_ratio_cover_95_percent() {
    let (scatter, mut rng) = (RunToRun { deviation: 0.02, degrees: 1e3 }, Rng::with_seed(3));
    let covers =
        |rng: &mut Rng| compare(&run(1.0, 0.02, rng), &run(1.3, 0.02, rng), scatter).unwrap().interval.contains(1.3);
    let covered = (0..2_000).filter(|_| covers(&mut rng)).count() as f64 / 2_000.0;
    assert!((0.93..=0.97).contains(&covered), "{covered}");
}

#[test]
fn difference_within_clock_steps_is_not_called_different() {
    let [one, two] = [10.0, 20.0].map(|value| figure(value, value, value, 10.0));
    assert_eq!(compare(&one, &two, RunToRun::NONE).unwrap().p, 1.0);
    let (least, far) = (figure(4.0, 4.0, 4.0, 10.0), figure(100.0, 99.0, 101.0, 10.0));
    let found = compare(&least, &far, RunToRun::NONE).unwrap();
    assert!(found.p < 0.001 && found.interval.low > 9.0 && found.interval.high.is_infinite(), "{found:?}");
}

#[test]
fn computed_values_differ_unless_equal() {
    let exact = |value| Estimate { value, interval: None, resolution: 0.0 };
    assert_eq!(compare(&exact(2.0), &exact(2.0), RunToRun::NONE).unwrap().p, 1.0);
    let found = compare(&exact(2.0), &exact(3.0), RunToRun::NONE).unwrap();
    assert!(found.p == 0.0 && (found.interval.low - 1.5).abs() < 1e-9, "{found:?}");
    assert!(compare(&exact(0.0), &exact(1.0), RunToRun::NONE).is_none());
}

#[test]
fn scatter_between_runs_is_learned_in_both_directions() {
    let general = RunToRun { deviation: 0.02, degrees: 4.0 };
    let set = |values: &[f64]| values.iter().map(|value| figure(*value, *value, *value, 0.0)).collect::<Vec<_>>();
    assert_eq!(general.learned(0.5, &[set(&[1.0, 1.2, 0.8])]), general, "too few");
    let apart = general.learned(0.5, &[set(&[1.0, 1.2, 0.8, 1.1])]);
    let similar = general.learned(0.5, &[set(&[1.0, 1.0, 1.0, 1.0])]);
    assert!(apart.deviation > 0.1 && similar.deviation < 0.01 && similar.degrees == 3.5, "{apart:?} {similar:?}");
}

#[test]
fn largest_distance_is_within_one_set() {
    let set = |values: &[f64]| values.iter().map(|value| Estimate::from(*value)).collect::<Vec<_>>();
    let (one, other) = (set(&[1.0, 2.0, 1.5]), set(&[30.0, 33.0]));
    assert!((farthest_apart(&[one, other]) - 2_f64.ln()).abs() < 1e-12);
    assert_eq!(farthest_apart(&[set(&[5.0])]), 0.0);
    assert_eq!(farthest_apart(&[]), 0.0);
}

proptest! {
    /// Exchanging the sides inverts the ratio and preserves the probability.
    #[test]
    fn exchanged_sides_invert_the_ratio(a in 1e-2..1e6_f64, b in 1e-2..1e6_f64, wide in 1.0..2.0_f64, resolution in 0.0..5.0_f64) {
        let (one, other) = (figure(a, a / wide, a * 1.1, resolution), figure(b, b * 0.9, b * wide, resolution));
        let scatter = RunToRun { deviation: 0.02, degrees: 5.0 };
        let (forward, back) = (compare(&one, &other, scatter).unwrap(), compare(&other, &one, scatter).unwrap());
        let close = |x: f64, y: f64| x == y || (x / y - 1.0).abs() < 1e-9;
        prop_assert!(close(forward.ratio * back.ratio, 1.0) && close(forward.p, back.p));
        prop_assert!(close(forward.interval.low, 1.0 / back.interval.high) && forward.interval.contains(forward.ratio));
        // A single comparison that is called different has an interval without 1.
        prop_assert_eq!(forward.p < 0.05, !forward.interval.contains(1.0));
    }

    /// Further comparisons without a difference add no discoveries.
    #[test]
    fn further_equal_comparisons_add_no_discoveries(p in prop::collection::vec(0.0..1.0_f64, 1..30)) {
        let single = discoveries(&p, 0.05).iter().filter(|called| **called).count();
        let company: Vec<f64> = p.iter().copied().chain([1.0; 10]).collect();
        prop_assert!(discoveries(&company, 0.05).iter().filter(|called| **called).count() <= single);
        prop_assert!(p.iter().zip(discoveries(&p, 0.05)).all(|(p, called)| !called || *p <= 0.05));
    }
}
