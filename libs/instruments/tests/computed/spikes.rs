//! Mixtures with a known answer, and edge cases.
use crate::statistics::normal;
use fastrand::Rng;
use instruments::spikes::{Spike, Spikes, find};
use instruments::tally::Tally;
use proptest::prelude::*;

/// Returns a lognormal latency around `median` ns.
fn lognormal(rng: &mut Rng, median: f64, sigma: f64) -> f64 {
    median * (sigma * normal(rng)).exp()
}

/// Returns a latency of at least `least` ns with an exponential tail of four stages.
fn gamma(rng: &mut Rng, least: f64, mean: f64) -> f64 {
    let stages: f64 = (0..4).map(|_| -(1.0 - rng.f64()).ln()).sum();
    least + (mean - least) * stages / 4.0
}

/// Returns the reading of a clock with steps of `step` ns for a duration that starts anywhere between two steps.
fn read(rng: &mut Rng, ns: f64, step: f64) -> u64 {
    let start = rng.f64() * step;
    (((start + ns) / step).floor() * step) as u64
}

/// A number of latencies, each drawn by the function.
type Part<'a> = (usize, &'a dyn Fn(&mut Rng) -> f64);

fn mixture(seed: u64, step: f64, parts: &[Part]) -> Tally {
    let rng = &mut Rng::with_seed(seed);
    let mut values = Vec::new();
    for (count, draw) in parts {
        for _ in 0..*count {
            let ns = draw(rng);
            values.push(read(rng, ns, step));
        }
    }
    values.into_iter().collect()
}

fn check_laws(found: &Spikes, tally: &Tally) {
    let total: u64 = found.spikes.iter().map(|spike| spike.count).sum();
    assert!(total <= tally.count());
    if !tally.is_empty() {
        assert!(found.leftover_share <= 0.01, "{found:?}");
        assert!((total as f64 / tally.count() as f64 + found.leftover_share - 1.0).abs() < 1e-9);
    }
    assert!(found.spikes.is_sorted_by(|a, b| a.share >= b.share));
    let mut ranges: Vec<(f64, f64)> = found.spikes.iter().map(|spike| (spike.from, spike.to)).collect();
    ranges.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:?}");
    let mut labels: Vec<&str> = found.spikes.iter().map(|spike| spike.label.as_str()).collect();
    labels.sort_unstable();
    assert!(labels.windows(2).all(|pair| pair[0] != pair[1]));
    for spike in &found.spikes {
        assert!(spike.share > 0.0 && spike.share <= 1.0 && spike.count > 0);
        assert!(spike.from <= spike.median && spike.median <= spike.to);
        assert_eq!(spike.echo_of.is_some(), spike.delay.is_some());
        assert_ne!(spike.echo_of.as_ref(), Some(&spike.label));
    }
}

/// Finds the spikes, checks their invariants, and their number.
fn found(tally: &Tally, step: f64, expected: usize) -> Vec<Spike> {
    let found = find(tally, step);
    check_laws(&found, tally);
    assert_eq!(found.spikes.len(), expected, "{found:#?}");
    found.spikes
}

fn close(value: f64, expected: f64, tolerance: f64, spike: &Spike) {
    assert!((value / expected - 1.0).abs() <= tolerance, "expected {expected}: {spike:?}");
}

#[test]
fn the_semaphore_of_1998() {
    for (seed, step) in [(1, 1.0), (2, 10.0), (3, 100.0)] {
        let body = |rng: &mut Rng| gamma(rng, 3_000.0, 3_500.0);
        let scatter = |rng: &mut Rng| 40_000.0 * (rng.f64() * 4.0).exp();
        let tally = mixture(
            seed,
            step,
            &[
                (149_400, &body),
                (450, &|rng| body(rng) + 4_800.0 + 400.0 * rng.f64()),
                (100, &|rng| body(rng) + 26_500.0 + 1_000.0 * rng.f64()),
                (20, &scatter),
            ],
        );
        let spikes = found(&tally, step, 3);
        for (spike, (share, mean, delay)) in spikes.iter().zip([
            (0.996, 3_500.0, 0.0),
            (0.003, 8_500.0, 5_000.0),
            (100.0 / 149_970.0, 30_500.0, 27_000.0),
        ]) {
            close(spike.share, share, 0.05, spike);
            close(spike.mean, mean, 0.03, spike);
            if delay > 0.0 {
                assert_eq!(spike.echo_of.as_deref(), Some("A"), "{spike:?}");
                close(spike.delay.unwrap(), delay, 0.05, spike);
            }
        }
    }
}

#[test]
fn six_components_and_shared_delays() {
    for (seed, step) in [(4, 1.0), (5, 10.0)] {
        let fast = |rng: &mut Rng| lognormal(rng, 300.0, 0.08);
        let slow = |rng: &mut Rng| lognormal(rng, 3_300.0, 0.04);
        let tally = mixture(
            seed,
            step,
            &[
                (80_000, &fast),
                (18_500, &slow),
                (800, &|rng| fast(rng) + 5_000.0 + 200.0 * normal(rng)),
                (500, &|rng| slow(rng) + 5_000.0 + 200.0 * normal(rng)),
                (150, &|rng| fast(rng) + 27_000.0 + 400.0 * normal(rng)),
                (50, &|rng| slow(rng) + 27_000.0 + 300.0 * normal(rng)),
            ],
        );
        let spikes = found(&tally, step, 6);
        let expected = [
            (0.8, None, 0.0),
            (0.185, None, 0.0),
            (0.008, Some("A"), 5_000.0),
            (0.005, Some("B"), 5_000.0),
            (0.0015, Some("A"), 27_000.0),
            (0.0005, Some("B"), 27_000.0),
        ];
        for (spike, (share, echo_of, delay)) in spikes.iter().zip(expected) {
            close(spike.share, share, 0.1, spike);
            assert_eq!(spike.echo_of.as_deref(), echo_of, "{spikes:#?}");
            if let Some(found) = spike.delay {
                close(found, delay, 0.05, spike);
            }
        }
    }
}

#[test]
fn ping_pong_fast_path_and_preemption() {
    let tally = mixture(
        6,
        10.0,
        &[
            (85_000, &|rng| lognormal(rng, 24_100.0, 0.02)),
            (11_700, &|rng| lognormal(rng, 3_545.0, 0.05)),
            (2_300, &|rng| lognormal(rng, 29_050.0, 0.02)),
            (140, &|rng| lognormal(rng, 52_500.0, 0.04)),
            (60, &|rng| 4e6 + 20_000.0 * normal(rng)),
        ],
    );
    let spikes = found(&tally, 10.0, 5);
    let medians = [24_100.0, 3_545.0, 29_050.0, 52_500.0, 4e6];
    spikes.iter().zip(medians).for_each(|(spike, median)| close(spike.median, median, 0.02, spike));
    assert_eq!(spikes[2].echo_of.as_deref(), Some("A"));
    assert_eq!(spikes[3].echo_of.as_deref(), Some("A"));
}

#[test]
fn latencies_of_a_futex_lock_are_few_spikes() {
    for (seed, step) in [(7, 1.0), (8, 10.0)] {
        let tally = mixture(
            seed,
            step,
            &[
                (990_000, &|rng| 10.0 + lognormal(rng, 5.0, 0.3)),
                (8_000, &|rng| lognormal(rng, 60.0, 0.8)),
                (1_500, &|rng| 5_000.0 * (rng.f64() * 1.8).exp()),
                (300, &|rng| 1e6 * (rng.f64() * 2.0).exp()),
            ],
        );
        let found = find(&tally, step);
        check_laws(&found, &tally);
        assert!((2..=5).contains(&found.spikes.len()), "{found:#?}");
        assert!(found.spikes[0].share > 0.985 && found.spikes[0].mean < 20.0, "{found:#?}");
    }
}

#[test]
fn neighbouring_steps_are_one_spike() {
    for (offset, step) in [(0, 10), (7, 26), (13, 26)] {
        let at = |steps: u64, count| (offset + steps * step, count);
        let tally = Tally::from_counts([at(1, 830_000), at(2, 170_000), at(3, 40), (0, 3)]);
        found(&tally, step as f64, 1);
        let every_other = Tally::from_counts([at(20, 500), at(22, 9_000), at(24, 700)]);
        found(&every_other, step as f64, 1);
    }
}

#[test]
fn broad_cluster_remains_one_spike() {
    for seed in 0..10 {
        let sigma = 0.1 * (1.0 + seed as f64);
        let tally = mixture(seed, 10.0, &[(50_000, &|rng| lognormal(rng, 2_000.0, sigma))]);
        found(&tally, 10.0, 1);
    }
}

#[test]
fn the_fringe() {
    assert_eq!(find(&Tally::new(), 10.0), Spikes::default());
    let equal = found(&Tally::from_counts([(500, 1_000)]), 10.0, 1);
    assert_eq!((equal[0].mean, equal[0].share, equal[0].from, equal[0].to), (500.0, 1.0, 500.0, 500.0));
    found(&Tally::from_counts([(0, 7)]), 10.0, 1);
    found(&[10, 1_000_000].into_iter().collect(), 10.0, 1);
    found(&[u64::MAX].into_iter().collect(), f64::NAN, 1);
}

#[test]
fn noise_has_no_labels() {
    for seed in 0..10 {
        let uniform = mixture(seed, 1.0, &[(3_000, &|rng| 1e6 * rng.f64())]);
        let found = find(&uniform, 1.0);
        check_laws(&found, &uniform);
        assert!(found.spikes.len() <= 2, "{found:#?}");
        for shape in [0.5, 1.0, 2.0] {
            let pareto = mixture(seed, 10.0, &[(100_000, &|rng| 100.0 * (1.0 - rng.f64()).powf(-1.0 / shape))]);
            let found = find(&pareto, 10.0);
            check_laws(&found, &pareto);
            assert!(found.spikes.len() <= 2, "{shape}: {found:#?}");
        }
    }
}

#[test]
fn rare_path_with_varying_delay_is_not_an_echo() {
    let tally =
        mixture(9, 1.0, &[(90_000, &|rng| lognormal(rng, 300.0, 0.05)), (900, &|rng| lognormal(rng, 9_000.0, 0.4))]);
    assert_eq!(found(&tally, 1.0, 2)[1].echo_of, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn laws_hold_for_any_tally(
        runs in prop::collection::vec((0_u64..1 << 40, 0_u32..40, 1_u64..100_000), 0..60),
        resolution in prop_oneof![Just(0.0), Just(-1.0), Just(f64::NAN), Just(f64::INFINITY), 0.1..1000.0],
    ) {
        let tally = Tally::from_counts(runs.into_iter().map(|(value, shift, count)| (value >> shift, count)));
        check_laws(&find(&tally, resolution), &tally);
    }

    #[test]
    fn no_panic_at_the_end_of_the_range(runs in prop::collection::vec((any::<u64>(), any::<u64>()), 0..20)) {
        find(&Tally::from_counts(runs), 26.0);
    }
}
