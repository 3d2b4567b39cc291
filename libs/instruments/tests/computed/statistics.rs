//! Coverage of the intervals, simulated with distributions whose answers are known.

use fastrand::Rng;
use instruments::statistics::blocks::{median_interval, share_interval};
use instruments::statistics::bootstrap::{ratio_of_means, ratio_of_medians};
use instruments::statistics::order::{coverage, median, quantile_interval, ranks, sample_quantile_interval};
use instruments::statistics::slices::Slices;
use instruments::statistics::stopping::Progress;
use instruments::statistics::{EndedBy, Interleaving, Interval, StoppingRule, Summary, Verdict};
use instruments::tally::Tally;
use proptest::prelude::*;

/// A distribution by its quantile function: draws are `quantile(uniform)`.
type Quantile = fn(f64) -> f64;

fn uniform(p: f64) -> f64 {
    p
}

fn exponential(p: f64) -> f64 {
    -(1.0 - p).ln()
}

/// Returns a quantile that is logistic rather than normal in the exponent: equally skewed, and in closed form.
fn log_logistic(p: f64) -> f64 {
    ((p / (1.0 - p)).ln() * 0.5).exp()
}

/// Returns a quantile with 60 % near 1, 40 % near 10, and nothing in between.
fn bimodal(p: f64) -> f64 {
    if p < 0.6 { 1.0 + p } else { 10.0 + 5.0 * p }
}

/// Returns a normal draw by Box and Muller; its median is 0.
pub fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// Returns a lognormal draw; its median is 1.
fn lognormal(rng: &mut Rng) -> f64 {
    normal(rng).exp()
}

fn within_band(covered: usize, runs: usize, what: &str) {
    let share = covered as f64 / runs as f64;
    assert!((0.93..=0.97).contains(&share), "{what}: covered {share}");
}

#[test]
fn order_statistic_intervals_cover_95_percent() {
    let distributions: [(&str, Quantile); 4] =
        [("uniform", uniform), ("exponential", exponential), ("log-logistic", log_logistic), ("bimodal", bimodal)];
    let cases =
        [(0.5, 20, 2500), (0.5, 100, 2500), (0.5, 2000, 2000), (0.9, 100, 2500), (0.9, 500, 2000), (0.99, 1000, 2000)];
    let mut rng = Rng::with_seed(95);
    for (q, n, runs) in cases {
        let (lower, upper) = ranks(n, q, 0.95).unwrap();
        for (name, quantile) in distributions {
            let truth = quantile(q);
            let covered = (0..runs).filter(|_| {
                // Only ranks matter, so counting below the ends replaces sorting.
                let below = (0..n).filter(|_| quantile(rng.f64()) <= truth).count() as u64;
                (lower..upper).contains(&below)
            });
            within_band(covered.count(), runs, &format!("{name} q={q} n={n}"));
        }
    }
}

#[test]
fn intervals_of_samples_and_of_tallies_cover_95_percent() {
    let mut rng = Rng::with_seed(96);
    let runs = 2000;
    let (mut by_samples, mut by_tally) = (0, 0);
    for _ in 0..runs {
        let samples: Vec<f64> = (0..50).map(|_| lognormal(&mut rng)).collect();
        by_samples += usize::from(sample_quantile_interval(&samples, 0.5, 0.95).unwrap().contains(1.0));
        let tally: Tally = samples.iter().map(|sample| (sample * 1e6) as u64).collect();
        by_tally += usize::from(quantile_interval(&tally, 0.5, 0.95).unwrap().contains(1e6));
    }
    within_band(by_samples, runs, "samples");
    within_band(by_tally, runs, "tally");
}

/// Returns latencies with a tail that comes in bursts: some slices have ten times as much of it as others.
fn slice_in_a_phase(rng: &mut Rng) -> Tally {
    let (shift, share) = (rng.u64(0..40), 10_f64.powf(-3.5 + 1.5 * rng.f64()));
    let value = |rng: &mut Rng| match rng.f64() < share {
        true => 1_000 + rng.u64(0..10_000),
        false => 100 + shift + (-rng.f64().ln() * 100.0) as u64,
    };
    (0..1_000).map(|_| value(rng)).collect()
}

#[test]
fn intervals_over_slices_have_their_nominal_coverage() {
    let mut rng = Rng::with_seed(5);
    let grand: Tally = (0..500).fold(Tally::new(), |mut sum, _| {
        sum.merge(&slice_in_a_phase(&mut rng));
        sum
    });
    for q in [0.5, 0.99, 0.999] {
        let truth = grand.quantile(q).unwrap() as f64;
        let (mut over_slices, mut independent) = (0, 0);
        for _ in 0..100 {
            let mut slices = Slices::default();
            (0..12).for_each(|_| slices.add(slice_in_a_phase(&mut rng)));
            over_slices += usize::from(slices.interval(q, 0.95).unwrap().contains(truth));
            independent += usize::from(quantile_interval(slices.all(), q, 0.95).unwrap().contains(truth));
        }
        assert!(over_slices >= 90, "{q}: {over_slices} of 100");
        assert!(independent + 5 < over_slices, "{q}: {independent} of 100, and {over_slices} over slices");
    }
}

#[test]
fn exact_coverage_stays_in_the_band() {
    for n in 38..=2000 {
        let covered = coverage(n, 0.5, ranks(n, 0.5, 0.95).unwrap());
        assert!((0.95 - 1e-9..=0.97).contains(&covered), "n={n} covers {covered}");
    }
}

#[test]
fn too_few_samples_have_no_interval() {
    for (q, fewest) in [(0.5, 6), (0.9, 29), (0.99, 299), (0.999, 2995)] {
        assert_eq!(ranks(fewest - 1, q, 0.95), None);
        assert!(ranks(fewest, q, 0.95).is_some());
    }
    assert_eq!((ranks(0, 0.5, 0.95), ranks(100, 0.0, 0.95), ranks(100, 0.5, 1.0)), (None, None, None));
    assert_eq!(ranks(100, f64::NAN, 0.95), None);
}

#[test]
fn exact_and_approximate_ranks_meet() {
    // Just below and just above a variance of 250,000.
    let (exact, approximate) = (ranks(999_999, 0.5, 0.95).unwrap(), ranks(1_000_001, 0.5, 0.95).unwrap());
    assert!(exact.0.abs_diff(approximate.0) <= 3 && exact.1.abs_diff(approximate.1) <= 3, "{exact:?} {approximate:?}");
}

#[test]
fn bootstrap_ratio_of_medians_covers_95_percent() {
    let mut rng = Rng::with_seed(97);
    let runs = 600;
    // A ratio of 1 compares equals: outside the interval it would be a false positive.
    for (n, truth) in [(20, 1.0), (20, 3.0), (101, 1.0)] {
        let covered = (0..runs).filter(|_| {
            let slow: Vec<f64> = (0..n).map(|_| truth * (1.0 + exponential(rng.f64()))).collect();
            let fast: Vec<f64> = (0..n).map(|_| 1.0 + exponential(rng.f64())).collect();
            let ratio = ratio_of_medians(&slow, &fast, 0.95, &mut rng).unwrap();
            assert_eq!(ratio.shows_difference(), !ratio.interval.contains(1.0));
            ratio.interval.contains(truth)
        });
        within_band(covered.count(), runs, &format!("ratio of medians {truth}, n={n}"));
    }
}

#[test]
fn bootstrap_ratio_of_means_covers_95_percent() {
    let mut rng = Rng::with_seed(98);
    let runs = 600;
    let covered = (0..runs).filter(|_| {
        let slow: Vec<f64> = (0..40).map(|_| 2.0 * (1.0 + rng.f64())).collect();
        let fast: Vec<f64> = (0..40).map(|_| 1.0 + rng.f64()).collect();
        ratio_of_means(&slow, &fast, 0.95, &mut rng).unwrap().interval.contains(2.0)
    });
    within_band(covered.count(), runs, "ratio of means");
}

#[test]
fn no_ratio_where_there_is_none() {
    let mut rng = Rng::with_seed(1);
    let some = [1.0; 10];
    assert_eq!(ratio_of_medians(&some, &[0.0; 10], 0.95, &mut rng), None);
    assert_eq!(ratio_of_medians(&some[..5], &some, 0.95, &mut rng), None);
    assert_eq!(ratio_of_means(&some, &[], 0.95, &mut rng), None);
    assert_eq!(ratio_of_medians(&some, &some, 1.0, &mut rng), None);
    let same = ratio_of_medians(&some, &some, 0.95, &mut rng).unwrap();
    assert_eq!((same.estimate, same.interval, same.shows_difference()), (1.0, Interval::new(1.0, 1.0), false));
}

#[test]
fn the_rule_stops_for_width_and_for_budget() {
    let rule = StoppingRule { target_relative_width: 0.1, at_least: 5, at_most: 20 };
    let at = |repeats, width: Option<f64>, budget_spent| {
        let interval = width.map(|width| Interval::new(10.0 - width / 2.0, 10.0 + width / 2.0));
        rule.verdict(&Progress { repeats, estimate: 10.0, interval, budget_spent })
    };
    assert_eq!(at(4, Some(0.1), false), Verdict::Continue);
    assert_eq!(at(5, Some(0.9), false), Verdict::Converged);
    assert_eq!(at(5, Some(1.2), false), Verdict::Continue);
    assert_eq!(at(5, None, true), Verdict::Exhausted);
    assert_eq!(at(20, Some(1.2), false), Verdict::Exhausted);
    assert_eq!(at(20, Some(0.9), true).ended_by(), Some(EndedBy::Converged));
    assert_eq!((Verdict::Exhausted.ended_by(), Verdict::Continue.ended_by()), (Some(EndedBy::Budget), None));
}

#[test]
fn every_order_of_three_configurations_occurs() {
    let mut seen: Vec<Vec<usize>> = Interleaving::new(3, 7).take(200).collect();
    assert_eq!(seen, Interleaving::new(3, 7).take(200).collect::<Vec<_>>());
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 6);
}

#[test]
fn a_summary_of_few_has_no_intervals() {
    assert_eq!(Summary::of(&Tally::new()), None);
    let one = Summary::of(&[7].into_iter().collect()).unwrap();
    assert_eq!((one.count, one.min, one.p999, one.max, one.mean, one.p50_ci), (1, 7.0, 7.0, 7.0, 7.0, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ranks_are_ordered_and_cover(n in 1_u64..5000, q in 0.01..0.99, confidence in 0.5..0.999) {
        if let Some((lower, upper)) = ranks(n, q, confidence) {
            prop_assert!(1 <= lower && lower < upper && upper <= n);
            prop_assert!(coverage(n, q, (lower, upper)) >= confidence - 1e-9);
        } else {
            prop_assert!(coverage(n, q, (1, n)) < confidence + 1e-9);
        }
    }

    #[test]
    fn intervals_contain_their_median(samples in prop::collection::vec(-1e6..1e6, 6..200)) {
        let interval = sample_quantile_interval(&samples, 0.5, 0.95).unwrap();
        prop_assert!(interval.contains(median(&samples).unwrap()));
    }

    #[test]
    fn rounds_are_permutations_of_the_open(
        cells in 0_usize..8,
        seed in any::<u64>(),
        closings in prop::collection::vec(0_usize..8, 0..8),
    ) {
        let mut rounds = Interleaving::new(cells, seed);
        for closing in closings {
            let expected = rounds.open().to_vec();
            match rounds.next() {
                Some(mut round) => {
                    prop_assert_eq!(rounds.order().last(), Some(&round));
                    round.sort_unstable();
                    prop_assert_eq!(round, expected);
                }
                None => prop_assert!(expected.is_empty()),
            }
            rounds.close(closing);
            prop_assert!(!rounds.open().contains(&closing));
        }
    }
}

/// The median of a cluster near another one whose position moves from slice to slice.
#[test]
fn interval_of_a_cluster_median_covers_dependent_values() {
    let slice = |rng: &mut Rng| -> Tally {
        let moment = 5_000 + rng.u64(0..400);
        let value = |rng: &mut Rng| if rng.bool() { 100 + rng.u64(0..50) } else { moment + rng.u64(0..200) };
        (0..500).map(|_| value(rng)).collect()
    };
    // Even values: halfway between the ends.
    let (truth, runs) = (5_300.0, 200);
    let (mut over_slices, mut independent) = (0, 0);
    for seed in 0..runs {
        let mut rng = Rng::with_seed(seed);
        let mut slices = Slices::default();
        (0..16).for_each(|_| slices.add(slice(&mut rng)));
        let cluster = slices.all().between(4_000..=10_000);
        let covers = |interval: Option<Interval>| usize::from(interval.unwrap().contains(truth));
        over_slices += covers(slices.interval_within(4_000..=10_000, 0.5, 0.95));
        independent += covers(quantile_interval(&cluster, 0.5, 0.95));
    }
    assert!(over_slices * 100 >= 90 * runs as usize, "{over_slices} of {runs}");
    assert!(independent * 2 < runs as usize, "{independent} of {runs}");
}

#[test]
fn a_cluster_of_one_slice_among_many_has_no_interval() {
    let mut slices = Slices::default();
    (0..10).for_each(|_| slices.add((0..100).collect()));
    slices.add((1_000..1_100).collect());
    assert_eq!(slices.interval_within(1_000..=2_000, 0.5, 0.95), None);
    assert!(slices.interval_within(0..=500, 0.5, 0.95).is_some());
}

// Coverage of the intervals over blocks whose values have an offset in common.

const RUNS: usize = 1_000;

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
        let (length, offset) = (1 + (40.0 * exponential(rng.f64())) as usize, 0.2 * rng.f64() - 0.1);
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
            let shared = truth * exponential(rng.f64());
            (shared, shared + (1.0 - truth) * exponential(rng.f64()))
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
