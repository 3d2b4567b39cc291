//! Outliers among machines: detected where there is one, and rarely where there is none.

use instruments::statistics::outlier::{Figure, Outliers};
use std::f64::consts::TAU;

/// Bound that is stated to users.
const CHANCE: f64 = 0.05;
const SETS: usize = 1_000;
const FIGURES: usize = 12;

fn normal(random: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (TAU * random.f64()).cos()
}

/// Returns a draw from Student's t with this number of degrees of freedom, as a ratio of sums of squares.
fn long_tailed(random: &mut fastrand::Rng, degrees: usize) -> f64 {
    let squares: f64 = (0..degrees).map(|_| normal(random).powi(2)).sum();
    normal(random) / (squares / degrees as f64).sqrt()
}

/// Returns metrics of equal machines, each with its own spread.
fn same(machines: usize, random: &mut fastrand::Rng, draw: impl Fn(&mut fastrand::Rng) -> f64) -> Vec<Figure> {
    let mut figure = |place: usize| {
        let spread = 0.01 * (place + 1) as f64;
        Figure { logarithms: (0..machines).map(|_| spread * draw(random)).collect(), least_spread: 0.0 }
    };
    (0..FIGURES).map(&mut figure).collect()
}

/// Returns the number of sets with an outlier, each judged separately.
fn alarms(machines: &[usize], draw: impl Fn(&mut fastrand::Rng) -> f64) -> usize {
    let mut random = fastrand::Rng::with_seed(2_008);
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
    let (mut random, mut odd) = (fastrand::Rng::with_seed(1_998), Outliers::with_chance(CHANCE));
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
    let mut random = fastrand::Rng::with_seed(1_999);
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
