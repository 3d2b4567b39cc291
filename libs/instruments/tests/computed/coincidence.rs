//! A signal that all trains share is found, and what only looks alike is not: a hundred seeds of each.

use instruments::coincidence::{coincidences, watched_by_all};

const SPAN_NS: f64 = 10e9;
const WINDOW_NS: f64 = 25e3;
const TRAINS: usize = 4;
const PERIOD_NS: f64 = 20e6;
const SEEDS: u64 = 100;

/// Moments at random, `rate` a second.
fn own(random: &mut fastrand::Rng, rate: f64) -> Vec<f64> {
    (0..(rate * SPAN_NS / 1e9) as usize).map(|_| random.f64() * SPAN_NS).collect()
}

/// A tick with its own phase, as every CPU has one.
fn tick(random: &mut fastrand::Rng) -> Vec<f64> {
    let phase = random.f64() * PERIOD_NS;
    (0..500).map(|n| f64::from(n) * PERIOD_NS + phase).collect()
}

fn sorted(mut train: Vec<f64>) -> Vec<f64> {
    train.retain(|moment| (0.0..SPAN_NS).contains(moment));
    train.sort_by(f64::total_cmp);
    train
}

fn trains(random: &mut fastrand::Rng, common: &[f64]) -> Vec<Vec<f64>> {
    let train = |random: &mut fastrand::Rng| {
        let mut train = own(random, 50.0);
        // Each is a little late, by itself.
        train.extend(common.iter().map(|moment| moment + random.f64() * 10e3));
        sorted(train)
    };
    (0..TRAINS).map(|_| train(random)).collect()
}

#[test]
fn a_signal_to_all_is_found_on_each() {
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        // Three a second, and fifty of each CPU alone.
        let common = own(&mut random, 3.0);
        let found = coincidences(&trains(&mut random, &common), SPAN_NS, WINDOW_NS, seed);
        assert!(
            found.iter().all(|train| train.is_common() && train.together >= common.len()),
            "seed {seed}: {found:?}"
        );
    }
}

#[test]
fn independent_trains_are_not_called_common() {
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let found = coincidences(&trains(&mut random, &[]), SPAN_NS, WINDOW_NS, seed);
        assert!(found.iter().all(|train| !train.is_common()), "seed {seed}: {found:?}");
    }
}

#[test]
fn ticks_of_one_period_and_own_phases_are_not_called_common() {
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let ticking: Vec<Vec<f64>> = (0..TRAINS).map(|_| sorted(tick(&mut random))).collect();
        let found = coincidences(&ticking, SPAN_NS, WINDOW_NS, seed);
        // Phases that happen to agree do come together, and are said to.
        let phase = |train: &Vec<f64>| train[0] % PERIOD_NS;
        for (place, one) in found.iter().enumerate() {
            let near = ticking.iter().enumerate().any(|(other, train)| {
                let apart = (phase(train) - phase(&ticking[place])).abs();
                other != place && apart.min(PERIOD_NS - apart) <= 1.5 * WINDOW_NS
            });
            assert!(near || !one.is_common(), "seed {seed}: {found:?}");
        }
    }
}

#[test]
fn few_or_no_moments_are_no_evidence() {
    assert!(coincidences(&[vec![5.0], vec![5.0]], 1e9, 1e4, 1).iter().all(|train| !train.is_common()));
    assert!(coincidences(&[vec![], vec![]], 1e9, 1e4, 1).iter().all(|train| train.together == 0));
    assert!(coincidences(&[], 1e9, 1e4, 1).is_empty());
}

/// Turns of 60 ms in every 100: what a run of many turns watches.
fn turns() -> Vec<std::ops::Range<f64>> {
    (0..100).map(|turn| f64::from(turn) * 1e8).map(|start| start..start + 6e7).collect()
}

fn watched(trains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let is_seen = |moment: &f64| turns().iter().any(|turn| turn.contains(moment));
    trains.iter().map(|train| train.iter().copied().filter(is_seen).collect()).collect()
}

#[test]
fn time_that_nobody_watched_does_not_make_chance_smaller() {
    let (mut together, mut by_chance) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let trains = watched(&trains(&mut random, &[]));
        let (trains, span) = watched_by_all(&trains, &vec![turns(); TRAINS]);
        let found = coincidences(&trains, span, WINDOW_NS, seed);
        assert!(found.iter().all(|train| !train.is_common()), "seed {seed}: {found:?}");
        together += found.iter().map(|train| train.together as f64).sum::<f64>();
        by_chance += found.iter().map(|train| train.by_chance).sum::<f64>();
    }
    // Some nine hundred: known to a thirtieth. With the unwatched time they are five thirds of what chance seems to
    // give.
    assert!((together / by_chance - 1.0).abs() < 0.15, "{together} together, {by_chance} by chance");
}

#[test]
fn a_signal_to_all_is_found_in_what_was_watched_of_each() {
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let common = own(&mut random, 5.0);
        let trains = watched(&trains(&mut random, &common));
        let (trains, span) = watched_by_all(&trains, &vec![turns(); TRAINS]);
        let found = coincidences(&trains, span, WINDOW_NS, seed);
        assert!(found.iter().all(|train| train.is_common()), "seed {seed}: {found:?}");
    }
}
