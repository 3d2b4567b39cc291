//! Combs of gaps with a known answer.
use fastrand::Rng;
use instruments::period::{Gap, Period, find, find_among};

const SECOND: f64 = 1e9;

/// Returns teeth every `period` ns, each moved by up to `jitter` and omitted with the probability `missing`.
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
fn further_frequencies_are_found() {
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

/// Returns gaps of `length` (from, to) at random times, with a rate per second.
fn noise(rng: &mut Rng, span: f64, a_second: f64, length: (f64, f64)) -> Vec<Gap> {
    let count = (span / SECOND * a_second) as usize;
    let gap = |_| Gap { start_ns: rng.f64() * span, duration_ns: length.0 + rng.f64() * (length.1 - length.0) };
    (0..count).map(gap).collect()
}

/// Returns a tick of 36 to 54 µs every 4 ms (give or take 100 ppm), of which some are missing, among the gaps of a
/// busy host.
fn machine(rng: &mut Rng, span: f64, shorter_a_second: f64) -> (f64, Vec<Gap>) {
    let period = 4e6 * (1.0 + (rng.f64() - 0.5) * 2e-4);
    let (phase, missing) = (rng.f64() * period, rng.f64() * 0.1);
    let mut tick = comb(rng, span, period, phase, 5e3, missing, 0.0);
    tick.iter_mut().for_each(|gap| gap.duration_ns = 36e3 + rng.f64() * 18e3);
    let short = noise(rng, span, shorter_a_second, (160.0, 900.0));
    let middling = noise(rng, span, 400.0, (1e3, 9e3));
    // Steal, and interruptions by the firmware: as long as the tick, and longer.
    let long = noise(rng, span, 30.0, (20e3, 4e6));
    (period, [tick, short, middling, long].concat())
}

/// Returns the median length of the tick without a search: the gaps above 10 µs are folded at a known frequency, and
/// those in the 10 µs bin in which most of them begin are used.
fn folded(gaps: &[Gap], period: f64, span: f64) -> f64 {
    const BIN_NS: f64 = 10e3;
    let mut bins = vec![Vec::new(); (period / BIN_NS) as usize + 1];
    for gap in gaps.iter().filter(|gap| gap.duration_ns >= 10e3) {
        bins[(gap.start_ns.rem_euclid(period) / BIN_NS) as usize].push(gap.duration_ns);
    }
    let mut lengths = bins.into_iter().max_by_key(Vec::len).unwrap();
    assert!(lengths.len() as f64 > span / period / 5.0, "the fold shows a tick");
    lengths.sort_by(f64::total_cmp);
    lengths[lengths.len() / 2]
}

#[test]
fn a_tick_among_tens_of_thousands_of_short_gaps() {
    let span = SECOND;
    for (seed, shorter, likely) in
        [(0, 500.0, &[][..]), (1, 20_000.0, &[]), (2, 20_000.0, &[250.0]), (3, 5e3, &[250.0])]
    {
        let rng = &mut Rng::with_seed(seed);
        let (period, gaps) = machine(rng, span, shorter);
        let known = folded(&gaps, period, span);
        let found = find_among(&gaps, span, likely);
        let tick = found.iter().find(|found| (found.period_ns / 4e6 - 1.0).abs() < 0.01);
        let tick = tick.unwrap_or_else(|| panic!("seed {seed}: no tick in {found:?}"));
        assert!((tick.median_gap_ns / known - 1.0).abs() < 0.2, "seed {seed}: {known} by folding, {tick:?}");
        assert!(tick.presence > 0.8, "seed {seed}: {tick:?}");
        assert_eq!(found.len(), 1, "seed {seed}: {found:?}");
    }
}

/// On a busy machine a tick occasionally ends in a preemption, which lasts longer than the tick's period.
#[test]
fn gap_longer_than_the_period_is_not_a_tick() {
    let rng = &mut Rng::with_seed(80);
    let mut gaps = comb(rng, SECOND, 4e6, 1e6, 3e3, 0.1, 40e3);
    gaps.iter_mut().step_by(7).for_each(|gap| gap.duration_ns = 8e6);
    let found = find_among(&gaps, SECOND, &[250.0]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].median_gap_ns, found[0].longest_gap_ns), (40e3, 40e3), "{found:?}");
}

/// Too few of its teeth remain to be significant by themselves, but at a known frequency they are.
#[test]
fn a_likely_frequency_needs_no_line() {
    let span = SECOND;
    for seed in 0..4 {
        let rng = &mut Rng::with_seed(70 + seed);
        let tick = comb(rng, span, 4e6, 1e6, 3e3, 0.85, 40e3);
        let gaps = [tick, noise(rng, span, 500.0, (20e3, 60e3))].concat();
        let found = find_among(&gaps, span, &[100.0, 250.0, 300.0, 1000.0]);
        assert_eq!(found.len(), 1, "seed {seed}: {found:?}");
        assert_period(&found[0], 4e6);
    }
}

/// Another rhythm at a multiple or a part of the likely frequency is not mistaken for it.
#[test]
fn a_likely_frequency_is_not_seen_in_its_multiples() {
    let span = SECOND;
    for (seed, period) in [(1, 1e6), (2, 8e6), (3, 2e6), (4, 3e6)] {
        let rng = &mut Rng::with_seed(seed);
        let gaps =
            [comb(rng, span, period, 0.3e6, 5e3, 0.02, 15e3), noise(rng, span, 3_000.0, (160.0, 900.0))].concat();
        let found = find_among(&gaps, span, &[250.0]);
        assert_eq!(found.len(), 1, "{period}: {found:?}");
        assert_period(&found[0], period);
    }
}

#[test]
fn likely_frequencies_raise_no_alarms() {
    let seeds = 8;
    let alarms = (0..seeds).filter(|&seed| {
        let rng = &mut Rng::with_seed(3000 + seed);
        let (few, many) = (noise(rng, SECOND, 300.0, (1e3, 60e3)), noise(rng, SECOND, 1_000.0, (160.0, 900.0)));
        !find_among(&[few, many].concat(), SECOND, &[100.0, 250.0, 300.0, 1000.0]).is_empty()
    });
    assert_eq!(alarms.count(), 0);
}
