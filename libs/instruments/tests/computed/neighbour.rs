//! SMT interference: the periods that the probes classify.

use instruments::neighbour::{CoreWidth, Probed, Reading, Sharing, Split, Uncertainty};

fn reading(cpu: u16, cycles: f32) -> Reading {
    Reading { cpu, cycles, cycles_per_ns: 3.0 }
}

fn at(cycles: f32) -> Probed {
    Probed::at(reading(0, cycles))
}

/// Returns a core that takes three cycles alone and five to seven with an active SMT sibling.
fn learned() -> CoreWidth {
    let mut core_width = CoreWidth::default();
    for step in 0..200 {
        core_width.learn(&at(3.0 + (step % 3) as f32 * 0.01));
        core_width.learn(&at(5.0 + (step % 20) as f32 * 0.1));
    }
    core_width
}

#[test]
fn periods_are_classified_by_the_lowest_cluster() {
    let core_width = learned();
    assert!((core_width.best(0).unwrap() - 3.01).abs() < 0.05, "{:?}", core_width.best(0));
    assert_eq!(core_width.sharing(&[at(3.1)]), Sharing::Alone);
    assert_eq!(core_width.sharing(&[at(4.5)]), Sharing::Shared);
    assert_eq!(core_width.sharing(&[at(3.4)]), Sharing::Neither);
    assert_eq!(core_width.sharing(&[Probed::between(reading(0, 3.0), reading(0, 5.0))]), Sharing::Neither);
    assert_eq!(core_width.sharing(&[Probed::between(reading(0, 3.0), reading(1, 3.0))]), Sharing::Neither, "it moved");
    assert_eq!(core_width.sharing(&[at(3.0), at(5.0)]), Sharing::Shared, "one of two cores was");
    assert_eq!(core_width.sharing(&[]), Sharing::Neither);
    assert_eq!(core_width.sharing(&[Probed::at(reading(7, 3.0))]), Sharing::Neither, "never probed");
}

#[test]
fn between_two_probes_the_frequency_is_their_mean() {
    let at = |cycles_per_ns| Reading { cycles_per_ns, ..reading(0, 3.0) };
    assert_eq!(Probed::between(at(3.9), at(4.1)).cycles_per_ns, 4.0);
    assert_eq!(Probed::at(at(3.9)).cycles_per_ns, 3.9);
}

#[test]
fn few_low_readings_are_not_a_cluster() {
    let mut core_width = learned();
    for low in 0..4 {
        core_width.learn(&at(1.0 + low as f32 * 0.2));
    }
    assert_eq!(core_width.sharing(&[at(3.0)]), Sharing::Alone);
}

#[test]
fn a_new_best_is_reported_once() {
    let mut core_width = CoreWidth::default();
    let changes = (0..50).filter(|_| core_width.learn(&at(5.0))).count();
    assert_eq!(changes, 0);
    let changes = (0..50).filter(|_| core_width.learn(&at(3.0))).count();
    assert_eq!(changes, 1);
    assert_eq!(core_width.sharing(&[at(5.0)]), Sharing::Shared);
}

#[test]
fn core_never_seen_exclusive_is_uncertain() {
    assert_eq!(learned().doubt(0), None);
    assert_eq!(CoreWidth::default().doubt(0), Some(Uncertainty::FewProbes(0)));
    let mut always_shared = CoreWidth::default();
    for step in 0..400 {
        always_shared.learn(&at(3.3 + (step % 40) as f32 * 0.05));
    }
    assert_eq!(always_shared.doubt(0), Some(Uncertainty::NoCrowd));
    let mut narrow = CoreWidth::default();
    (0..400).for_each(|_| _ = narrow.learn(&at(5.2)));
    let expected = cfg!(target_arch = "x86_64");
    assert_eq!(matches!(narrow.doubt(0), Some(Uncertainty::Narrow(_))), expected, "{:?}", narrow.doubt(0));
}

#[test]
fn values_are_split_by_the_use_of_the_core() {
    let values = (0..40).map(|place| match place % 4 {
        0 => (10.0, Sharing::Shared),
        1 => (99.0, Sharing::Neither),
        _ => (5.0, Sharing::Alone),
    });
    let split = Split::of(values);
    assert_eq!(split.alone.unwrap().value, 5.0);
    assert_eq!(split.shared.unwrap().value, 10.0);
    assert!((split.shared_share.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    let few = Split::of([(5.0, Sharing::Alone), (6.0, Sharing::Alone)]);
    assert_eq!((few.alone, few.shared_share), (None, Some(0.0)));
    assert_eq!(Split::of([]).shared_share, None);
}

/// Returns the samples of a core whose sibling becomes active and inactive for random times, with the true share.
///
/// The readings scatter as on a machine. Each sample has its own shared part, which determines the true share.
fn planted(share: f64, seed: u64) -> (f64, Vec<Probed>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut exponential = move |mean: f64| -mean * (1.0 - random.f64()).ln();
    let mut random = fastrand::Rng::with_seed(!seed);
    let mut read = |is_shared: bool| {
        // On the exclusive core the readings differ by a percent. With an active sibling they are where its code puts
        // them, and a few of either kind were interrupted.
        let cycles = if is_shared { 4.3 + 2.2 * random.f64() } else { 3.05 * (1.0 + 0.02 * (random.f64() - 0.5)) };
        reading(0, (cycles * if random.f64() < 0.005 { 1.5 } else { 1.0 }) as f32)
    };
    let (mut is_there, mut left_ms, mut before) = (false, exponential(30.0 * (1.0 - share)), reading(0, 3.05));
    let (mut shared, mut probed) = (0, Vec::new());
    for _ in 0..60_000 {
        // An activity that is shorter than a sample is neither kind, as on a machine; few are.
        left_ms -= 0.1;
        if left_ms < 0.0 {
            is_there = !is_there;
            left_ms = exponential(30.0 * if is_there { share } else { 1.0 - share });
        }
        shared += u32::from(is_there);
        let after = read(is_there);
        probed.push(Probed::between(before, after));
        before = after;
    }
    (f64::from(shared) / probed.len() as f64, probed)
}

#[test]
fn share_of_simulated_interference_is_recovered() {
    for (number, planned) in [0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97].into_iter().enumerate() {
        let (share, probed) = planted(planned, number as u64 + 1);
        assert!((share - planned).abs() < 0.1, "{planned} became {share}");
        let mut core_width = CoreWidth::default();
        probed.iter().for_each(|probed| _ = core_width.learn(probed));
        let split = Split::of(probed.iter().map(|probed| (1.0, core_width.sharing(&[*probed]))));
        let found = split.shared_share.unwrap();
        assert!((found - share).abs() < 0.03, "{found} of a core that was shared for {share} of the time");
    }
}
