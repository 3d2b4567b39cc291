//! Runs of the same configuration are not called different, runs of different ones are.

use crate::statistics::normal;
use fastrand::Rng;
use instruments::statistics::Interval;
use instruments::statistics::comparison::{Comparison, Estimate, FarthestApart, RunToRun, compare};
use instruments::statistics::discovery::discoveries;
use instruments::statistics::outlier::{Figure, Outliers};
use instruments::statistics::steps::{Level, levels};
use proptest::prelude::*;

const CELLS: usize = 12;
const WITHIN: f64 = 0.01;

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
    let one = set(&[1.5, 1.5, 2.0, 1.5, 1.5, 1.0, 1.5, 1.5]);
    let found = FarthestApart::of(&[one.clone(), set(&[30.0, 33.0])]);
    assert!((found.all - 2_f64.ln()).abs() < 1e-12 && (found.without_farthest - (2.0_f64 / 1.5).ln()).abs() < 1e-12);
    // Of fewer runs, none may be the exception.
    let few = FarthestApart::of(&[one[..7].to_vec()]);
    assert!((few.all - 2_f64.ln()).abs() < 1e-12 && few.without_farthest == few.all);
    for sets in [vec![set(&[5.0])], Vec::new()] {
        assert_eq!(FarthestApart::of(&sets), FarthestApart::default());
    }
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

// Outliers among machines: detected where there is one, and rarely where there is none.

/// Bound that is stated to users.
const CHANCE: f64 = 0.05;
const SETS: usize = 1_000;
const FIGURES: usize = 12;

/// Returns a draw from Student's t with this number of degrees of freedom, as a ratio of sums of squares.
fn long_tailed(random: &mut Rng, degrees: usize) -> f64 {
    let squares: f64 = (0..degrees).map(|_| normal(random).powi(2)).sum();
    normal(random) / (squares / degrees as f64).sqrt()
}

/// Returns metrics of equal machines, each with its own spread.
fn same(machines: usize, random: &mut Rng, draw: impl Fn(&mut Rng) -> f64) -> Vec<Figure> {
    let mut figure = |place: usize| {
        let spread = 0.01 * (place + 1) as f64;
        Figure { logarithms: (0..machines).map(|_| spread * draw(random)).collect(), least_spread: 0.0 }
    };
    (0..FIGURES).map(&mut figure).collect()
}

/// Returns the number of sets with an outlier, each judged separately.
fn alarms(machines: &[usize], draw: impl Fn(&mut Rng) -> f64) -> usize {
    let mut random = Rng::with_seed(2_008);
    let sets = (0..SETS).map(|set| same(machines[set % machines.len()], &mut random, &draw));
    let mut odd = Outliers::with_chance(CHANCE);
    sets.filter(|figures| odd.among(figures).iter().any(|found| !found.is_empty())).count()
}

#[test]
fn equal_machines_rarely_have_an_outlier() {
    let found = alarms(&[3, 5, 8], normal);
    assert!(found as f64 <= CHANCE * SETS as f64, "{found} of {SETS}");
}

/// The tails are those from which the limits are drawn: the bound itself, plus the chance variation in a thousand
/// sets.
#[test]
fn long_tails_do_not_break_the_bound() {
    let found = alarms(&[6], |random| long_tailed(random, 5)) as f64;
    let expected = CHANCE * SETS as f64;
    assert!(found <= expected + 3.0 * expected.sqrt(), "{found} of {SETS}");
    assert!(found > 0.0, "the bound would be none");
}

#[test]
fn simulated_outlier_is_found() {
    let (mut random, mut odd) = (Rng::with_seed(1_998), Outliers::with_chance(CHANCE));
    let found = |_| {
        let mut figures = same(8, &mut random, normal);
        // One and a half times the value, where machines differ by 2 %.
        figures[1].logarithms[3] += 1.5_f64.ln();
        let mut expected = vec![Vec::new(); FIGURES];
        expected[1] = vec![3];
        odd.among(&figures) == expected
    };
    let found = (0..100).map(found).filter(|is_found| *is_found).count();
    assert!(found >= 80, "{found} of 100");
}

/// Two equal outliers do not mask each other.
#[test]
fn two_outliers_of_ten_do_not_mask_each_other() {
    let mut random = Rng::with_seed(1_999);
    let mut figures = same(10, &mut random, normal);
    figures[0].logarithms[2] += 1.0;
    figures[0].logarithms[7] += 1.1;
    assert_eq!(Outliers::with_chance(CHANCE).among(&figures)[0], [2, 7]);
}

#[test]
fn no_spread_and_two_machines_give_no_outlier() {
    let figure = |logarithms: &[f64], least_spread| Figure { logarithms: logarithms.to_vec(), least_spread };
    let figures =
        [figure(&[1.0, 9.0], 0.0), figure(&[1.0, 1.0, 1.0, 9.0], 0.0), figure(&[], 0.1), figure(&[1.0; 5], 0.1)];
    assert!(Outliers::with_chance(CHANCE).among(&figures).iter().all(Vec::is_empty));
    // A step of the clock counts as a spread, and a value within a few steps is not an outlier.
    let stepped = [figure(&[1.0, 1.0, 1.0, 1.0, 1.1], 0.1)];
    assert!(Outliers::with_chance(CHANCE).among(&stepped)[0].is_empty());
}

// Steps are found where there are some, and not where there are none.

#[test]
fn pure_noise_has_no_step_in_95_series_of_100() {
    const RUNS: usize = 200;
    let mut rng = Rng::with_seed(7);
    for n in [6, 8, 12, 20, 50] {
        for has_tails in [false, true] {
            // With three degrees of freedom, one value in a hundred deviates by more than four and a half standard
            // deviations.
            let draw: fn(&mut Rng) -> f64 = if has_tails { |rng| long_tailed(rng, 3) } else { normal };
            let mut series = || (0..n).map(|_| (0.02 * draw(&mut rng)).exp()).collect::<Vec<f64>>();
            let stepped = (0..RUNS).filter(|_| levels(&series(), 0.0).len() > 1).count();
            assert!(stepped * 20 <= RUNS, "tails {has_tails}, {n} values: {stepped} of {RUNS} have a step");
        }
    }
}

#[test]
fn step_is_found_at_its_position_with_its_ratio() {
    const RUNS: usize = 200;
    let mut rng = Rng::with_seed(8);
    let (mut found, mut covered) = (0, 0);
    for _ in 0..RUNS {
        let at = rng.usize(5..16);
        let value = |place: usize, rng: &mut Rng| if place < at { 1.0 } else { 1.1 } * (0.01 * normal(rng)).exp();
        let series: Vec<f64> = (0..20).map(|place| value(place, &mut rng)).collect();
        let levels = levels(&series, 0.0);
        found += usize::from(levels.len() == 2 && levels[1].from.abs_diff(at) <= 1);
        covered += usize::from(levels.iter().filter_map(|level| level.step).any(|step| step.interval.contains(1.1)));
    }
    assert!(found * 10 >= RUNS * 9 && covered * 10 >= RUNS * 9, "{found} found, {covered} covered of {RUNS}");
}

#[test]
fn outlier_is_not_a_step() {
    let mut series = vec![10.0, 10.1, 9.9, 10.0, 10.2, 10.0, 9.8, 10.1, 10.0, 9.9];
    series[4] = 90.0;
    assert_eq!(levels(&series, 0.0).len(), 1);
}

#[test]
fn values_without_scatter_step_where_they_change() {
    let levels = levels(&[3.0, 3.0, 3.0, 3.0, 6.0, 6.0, 6.0], 0.0);
    assert_eq!(levels.iter().map(|level| (level.from, level.to)).collect::<Vec<_>>(), [(0, 4), (4, 7)]);
    assert!((levels[1].step.unwrap().estimate - 2.0).abs() < 1e-9);
}

#[test]
fn known_noise_hides_small_steps() {
    let series = [1.0, 1.0, 1.0, 1.01, 1.01, 1.01];
    assert_eq!(levels(&series, 0.0).len(), 2);
    assert_eq!(levels(&series, 0.02).len(), 1);
}

fn ends(levels: &[Level]) -> Vec<usize> {
    levels.iter().map(|level| level.to).collect()
}

#[test]
fn first_of_two_equal_cuts_is_chosen_in_any_unit() {
    // The cut costs the same before the 17th value and before the 19th.
    let series = [
        499634.8979433627,
        165190.6440343095,
        811943.0891550424,
        93144.55732570477,
        686450.747544582,
        481509.48061593255,
        699506.4069450282,
        772140.9272841961,
        936055.8007138671,
        909716.7174062848,
        594796.5946720669,
        820799.7764023562,
        538129.9292089967,
        638987.755160258,
        920142.7071075516,
        838624.8625863795,
        0.001,
        892224.6107252944,
        279250.12613309233,
        221473.44205770027,
        229709.40688470125,
        261844.81437154883,
        0.001,
        595029.0395123932,
        0.001,
        0.001,
        578326.7970249967,
    ];
    let scaled: Vec<f64> = series.iter().map(|value| value * 1024.0).collect();
    assert_eq!(ends(&levels(&series, 0.0)), ends(&levels(&scaled, 0.0)));
}

proptest! {
    /// For any values, the pieces are contiguous and long enough, and a change of unit changes nothing.
    #[test]
    fn pieces_cover_the_series(values in prop::collection::vec(1e-3..1e6_f64, 0..40)) {
        let found = levels(&values, 0.0);
        prop_assert_eq!(found.first().map_or(0, |level| level.from), 0);
        prop_assert_eq!(found.last().map_or(0, |level| level.to), values.len());
        prop_assert!(found.windows(2).all(|pair| pair[0].to == pair[1].from));
        prop_assert!(found.len() < 2 || found.iter().all(|level| level.to - level.from >= 3));
        let scaled: Vec<f64> = values.iter().map(|value| value * 1024.0).collect();
        prop_assert_eq!(ends(&levels(&scaled, 0.0)), ends(&found));
    }
}
