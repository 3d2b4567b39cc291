//! Coverage of the intervals over blocks whose values have an offset in common.

use fastrand::Rng;
use instruments::statistics::blocks::{median_interval, share_interval};

const RUNS: usize = 1_000;

fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.f64()).ln()
}

/// Asserts that about 95 % of the existing intervals cover the true value.
fn about_95_percent(what: &str, mut covers: impl FnMut() -> Option<bool>) {
    let known: Vec<bool> = (0..RUNS).filter_map(|_| covers()).collect();
    assert!(known.len() > RUNS / 2, "{what}: {} of {RUNS} known", known.len());
    let share = known.iter().filter(|covers| **covers).count() as f64 / known.len() as f64;
    // Few blocks of very different length are the hardest case.
    assert!((0.92..=0.97).contains(&share), "{what}: covered {share}");
}

/// Returns blocks of very different length; each deviates by up to a tenth, and its values scatter by a twentieth
/// around that.
fn with_offsets(count: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
    let block = |_| {
        let (length, offset) = (1 + (40.0 * exponential(rng)) as usize, 0.2 * rng.f64() - 0.1);
        (0..length).map(|_| 100.0 * (1.0 + offset + 0.1 * rng.f64() - 0.05)).collect()
    };
    (0..count).map(block).collect()
}

#[test]
fn a_median_over_blocks_is_covered() {
    let mut rng = Rng::with_seed(14);
    for count in [8, 12, 30, 100] {
        let covers = || Some(median_interval(&with_offsets(count, &mut rng), 0.95)?.contains(100.0));
        about_95_percent(&format!("the median of {count} blocks"), covers);
    }
}

#[test]
fn a_share_over_stretches_is_covered() {
    let mut rng = Rng::with_seed(15);
    for (count, truth) in [(8, 0.3), (12, 0.02), (30, 0.3), (100, 0.9)] {
        let stretches = |rng: &mut Rng| {
            let shared = truth * exponential(rng);
            (shared, shared + (1.0 - truth) * exponential(rng))
        };
        let mut blocks = || -> Vec<(f64, f64)> { (0..count).map(|_| stretches(&mut rng)).collect() };
        let covers = || Some(share_interval(&blocks(), 0.95)?.contains(truth));
        about_95_percent(&format!("a share of {truth} by {count} pairs of stretches"), covers);
    }
}

#[test]
fn too_few_or_constant_blocks_have_no_interval() {
    assert_eq!(share_interval(&[(1.0, 2.0); 3], 0.95), None, "too few");
    assert_eq!(share_interval(&[(0.0, 2.0); 9], 0.95), None, "never seen");
    assert_eq!(share_interval(&[(2.0, 2.0); 9], 0.95), None, "nothing else seen");
    assert_eq!(share_interval(&[], 0.95), None);
    assert_eq!(
        median_interval(&[vec![1.0; 100], vec![1.0], vec![1.0], vec![1.0], vec![1.0]], 0.95),
        None,
        "one in effect"
    );
    assert_eq!(median_interval(&[], 0.95), None);
}

#[test]
fn blocks_that_agree_are_no_better_than_independent_values() {
    let one: Vec<f64> = (0..10).map(f64::from).collect();
    let ends = median_interval(&vec![one; 10], 0.95).unwrap();
    assert!(ends.low <= 3.0 && ends.high >= 5.0, "{ends:?}");
}
