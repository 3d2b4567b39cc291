//! Combs of gaps with a known answer.
use fastrand::Rng;
use instruments::period::{Gap, Period, find};

const SECOND: f64 = 1e9;

/// Teeth every `period` ns, each moved by up to `jitter` and left out with the chance `missing`.
fn comb(rng: &mut Rng, span: f64, period: f64, phase: f64, jitter: f64, missing: f64, duration: f64) -> Vec<Gap> {
    let teeth = ((span - phase) / period) as u32;
    (0..teeth)
        .map(|tooth| (f64::from(tooth), (rng.f64() * 2.0 - 1.0) * jitter, rng.f64() < missing))
        .filter(|&(_, _, is_missing)| !is_missing)
        .map(|(tooth, off, _)| Gap { start_ns: (phase + tooth * period + off).max(0.0), duration_ns: duration })
        .collect()
}

fn random(rng: &mut Rng, span: f64, count: usize) -> Vec<Gap> {
    (0..count).map(|_| Gap { start_ns: rng.f64() * span, duration_ns: 9_000.0 }).collect()
}

fn assert_period(found: &Period, period_ns: f64) {
    assert!((found.period_ns / period_ns - 1.0).abs() < 1e-3, "expected {period_ns}: {found:?}");
}

#[test]
fn a_tick_among_random_gaps() {
    for seed in 0..5 {
        let rng = &mut Rng::with_seed(seed);
        let gaps = [comb(rng, 2.0 * SECOND, 4e6, 1.3e6, 20e3, 0.0, 2_500.0), random(rng, 2.0 * SECOND, 200)].concat();
        let found = find(&gaps, 2.0 * SECOND);
        assert_eq!(found.len(), 1, "seed {seed}: {found:?}");
        assert_period(&found[0], 4e6);
        assert!((found[0].phase_ns - 1.3e6).abs() < 20e3, "{found:?}");
        assert!(found[0].presence > 0.97 && found[0].median_gap_ns == 2_500.0, "{found:?}");
        assert!((found[0].share_of_gaps - 500.0 / 700.0).abs() < 0.03, "{found:?}");
    }
}

#[test]
fn two_combs_apart_and_with_common_teeth() {
    for (seed, phase) in [(1, 0.7e6), (2, 0.0), (3, 2.3e6)] {
        let rng = &mut Rng::with_seed(seed);
        let span = 2.0 * SECOND;
        let tick = comb(rng, span, 4e6, 0.0, 20e3, 0.0, 2_500.0);
        let host = comb(rng, span, 10e6, phase, 20e3, 0.0, 30_000.0);
        let found = find(&[tick, host, random(rng, span, 100)].concat(), span);
        assert_eq!(found.len(), 2, "seed {seed}: {found:?}");
        assert_period(&found[0], 4e6);
        assert_period(&found[1], 10e6);
        assert!(found[1].presence > 0.9, "{found:?}");
    }
}

#[test]
fn missing_and_skipped_teeth() {
    let span = SECOND;
    for missing in [0.3, 0.6] {
        let rng = &mut Rng::with_seed(5);
        let gaps = [comb(rng, span, 4e6, 3e6, 20e3, missing, 2_500.0), random(rng, span, 60)].concat();
        let found = find(&gaps, span);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_period(&found[0], 4e6);
        assert!((found[0].presence - (1.0 - missing)).abs() < 0.1, "{found:?}");
    }
}

#[test]
fn other_frequencies() {
    for (period, span) in [(1e6, SECOND), (100e6, 4.0 * SECOND), (250e3, SECOND), (16.67e6, 2.0 * SECOND)] {
        let rng = &mut Rng::with_seed(6);
        let gaps = [comb(rng, span, period, period / 3.0, 10e3, 0.0, 2_500.0), random(rng, span, 30)].concat();
        let found = find(&gaps, span);
        assert_eq!(found.len(), 1, "{period}: {found:?}");
        assert_period(&found[0], period);
    }
}

#[test]
fn random_gaps_have_no_period() {
    let seeds = 60;
    let alarms = (0..seeds).filter(|&seed| {
        let rng = &mut Rng::with_seed(1000 + seed);
        let count = rng.usize(5..800);
        !find(&random(rng, SECOND, count), SECOND).is_empty()
    });
    assert!(alarms.count() <= 3);
}

#[test]
fn nothing_to_find() {
    let gap = |start_ns| Gap { start_ns, duration_ns: 1.0 };
    assert!(find(&[], SECOND).is_empty());
    assert!(find(&[gap(5.0)], SECOND).is_empty());
    assert!(find(&[gap(5.0); 50], 0.0).is_empty());
    assert!(find(&[gap(5.0); 50], f64::NAN).is_empty());
    assert!(find(&[gap(f64::NAN), gap(-1.0), gap(2e9)], SECOND).is_empty());
    assert!(find(&[gap(5e8); 50], SECOND).is_empty());
}
