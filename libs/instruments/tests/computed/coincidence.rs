//! A signal that all trains share is found, and a mere similarity is not: forty seeds of each.

use instruments::coincidence::{coincidences, watched_by_all};

const SPAN_NS: f64 = 10e9;
const WINDOW_NS: f64 = 25e3;
const TRAINS: usize = 4;
const PERIOD_NS: f64 = 20e6;
const SEEDS: u64 = 40;

/// Returns random times, `rate` per second.
fn own(random: &mut fastrand::Rng, rate: f64) -> Vec<f64> {
    (0..(rate * SPAN_NS / 1e9) as usize).map(|_| random.f64() * SPAN_NS).collect()
}

/// Returns a tick with its own phase, as every CPU has one.
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
        // Each one is delayed a little, independently.
        train.extend(common.iter().map(|moment| moment + random.f64() * 10e3));
        sorted(train)
    };
    (0..TRAINS).map(|_| train(random)).collect()
}

#[test]
fn common_signal_is_found_on_each_train() {
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        // Three common events per second, and fifty of each CPU alone.
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
        // Phases that happen to agree do coincide, and are reported.
        let phase = |train: &Vec<f64>| train[0] % PERIOD_NS;
        for (place, one) in found.iter().enumerate() {
            let near = ticking.iter().enumerate().any(|(second, train)| {
                let apart = (phase(train) - phase(&ticking[place])).abs();
                second != place && apart.min(PERIOD_NS - apart) <= 1.5 * WINDOW_NS
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

/// Returns windows of 60 ms in every 100 ms, as in a run of many repetitions.
fn windows() -> Vec<std::ops::Range<f64>> {
    (0..100).map(|window| f64::from(window) * 1e8).map(|start| start..start + 6e7).collect()
}

fn watched(trains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let is_seen = |moment: &f64| windows().iter().any(|window| window.contains(moment));
    trains.iter().map(|train| train.iter().copied().filter(is_seen).collect()).collect()
}

#[test]
fn unwatched_time_does_not_reduce_the_expected_count() {
    let (mut together, mut by_chance) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let trains = watched(&trains(&mut random, &[]));
        let (trains, span) = watched_by_all(&trains, &vec![windows(); TRAINS]);
        let found = coincidences(&trains, span, WINDOW_NS, seed);
        assert!(found.iter().all(|train| !train.is_common()), "seed {seed}: {found:?}");
        together += found.iter().map(|train| train.together as f64).sum::<f64>();
        by_chance += found.iter().map(|train| train.by_chance).sum::<f64>();
    }
    // There are about four hundred, known to a twentieth. With the unwatched time, they are five thirds of the number
    // that seems expected by chance.
    assert!((together / by_chance - 1.0).abs() < 0.15, "{together} together, {by_chance} by chance");
}

#[test]
fn common_signal_is_found_in_partly_watched_trains() {
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let common = own(&mut random, 5.0);
        let trains = watched(&trains(&mut random, &common));
        let (trains, span) = watched_by_all(&trains, &vec![windows(); TRAINS]);
        let found = coincidences(&trains, span, WINDOW_NS, seed);
        assert!(found.iter().all(|train| train.is_common()), "seed {seed}: {found:?}");
    }
}
