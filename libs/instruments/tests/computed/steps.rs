//! Steps are found where there are some, and not where there are none.
use fastrand::Rng;
use instruments::statistics::steps::{Level, levels};
use proptest::prelude::*;

fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// Returns a draw with three degrees of freedom: one value in a hundred deviates by more than four and a half
/// standard deviations.
fn with_tails(rng: &mut Rng) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
    normal(rng) / (squares / 3.0).sqrt()
}

#[test]
fn pure_noise_has_no_step_in_95_series_of_100() {
    const RUNS: usize = 200;
    let mut rng = Rng::with_seed(7);
    for n in [6, 8, 12, 20, 50] {
        for has_tails in [false, true] {
            let draw = if has_tails { with_tails } else { normal };
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
