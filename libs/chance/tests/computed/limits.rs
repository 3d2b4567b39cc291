//! Values that are too large, endless, continuous or impossible stop with an error.
use chance::{Chance, Distribution, Error, Expectation, Experiment, Limits, Simulation, Source, constant};

const SMALL: Limits = Limits { bytes: 100_000, paths: 10_000, draws: 50 };

#[test]
fn a_state_space_too_large_stops_with_the_size_reached() {
    let growing = constant(0_u64).repeat(60, |chance: &mut Chance, bits| bits << 1 | chance.below(2));
    let Err(Error::TooLarge { states, bytes, limit }) = Distribution::<_, f64>::within(&growing, &SMALL) else {
        panic!("2^60 states fit nowhere")
    };
    assert!(states > 1_000 && bytes > limit && limit == SMALL.bytes);
}

#[test]
fn a_sum_of_known_excess_size_is_not_begun() {
    let wide = |chance: &mut Chance| chance.below(1_000_000);
    assert!(matches!(Distribution::floating(&wide).unwrap().sum_of(1_000_000), Err(Error::TooLarge { .. })));
    let coin = |chance: &mut Chance| chance.odds(1, 3);
    assert!(matches!(Distribution::exact(&coin).unwrap().max_of(u64::MAX), Err(Error::TooLarge { .. })));
}

#[test]
fn too_many_paths_through_one_step_stop() {
    let dice = |chance: &mut Chance| (0..20).map(|_| chance.die(6)).sum::<u32>();
    assert_eq!(Distribution::<_, f64>::within(&dice, &SMALL), Err(Error::TooManyPaths { paths: 10_000 }));
}

#[test]
fn a_loop_that_only_chance_ends_is_simulated_but_not_enumerated() {
    let tries = |chance: &mut Chance| (1_u32..).find(|_| chance.die(6) == 6).unwrap();
    assert_eq!(Distribution::<_, f64>::within(&tries, &SMALL), Err(Error::TooManyDraws { draws: 50 }));
    assert!(Simulation::seeded(1).run(&tries).unwrap() >= 1);
}

#[test]
fn an_experiment_with_a_memory_is_rejected() {
    let calls = std::cell::Cell::new(0);
    let moody = |chance: &mut Chance| {
        calls.set(calls.get() + 1);
        (chance.die(2 + calls.get()), chance.die(6))
    };
    assert_eq!(Distribution::exact(&moody), Err(Error::Unrepeatable));
}

#[test]
fn an_impossible_condition_is_an_error_everywhere() {
    let never = |chance: &mut Chance| {
        let face = chance.die(6);
        chance.given(face > 6);
        face
    };
    assert_eq!(Distribution::exact(&never), Err(Error::Impossible));
    assert_eq!(Expectation::floating(&never).probability_of(&1), Err(Error::Impossible));
    assert_eq!(Expectation::floating(&never).mean(|face| f64::from(*face)), Err(Error::Impossible));
    assert!(matches!(Simulation::seeded(1).run(&never), Err(Error::Rejected { .. })));
}

#[test]
fn an_invalid_source_names_its_problem() {
    assert_eq!(Source::<u8>::weighted([]), Err(Error::NoOutcomes));
    assert_eq!(Source::weighted([(1, 0)]), Err(Error::NoOutcomes));
    assert_eq!(Source::weighted([(1, u64::MAX), (2, 1)]), Err(Error::WeightsTooLarge));
    assert_eq!(Source::with_probabilities([(1, 0.5), (2, 0.25)]), Err(Error::NotOne { sum: 0.75 }));
    assert_eq!(
        Source::with_probabilities([(1, 1.5), (2, -0.5)]),
        Err(Error::BadProbability { position: 1, value: 1.5 })
    );
    assert_eq!(Source::<u8>::empirical([]), Err(Error::NoOutcomes));
}

#[test]
fn invalid_numbers_of_copies_are_rejected() {
    let die = Distribution::exact(&|chance: &mut Chance| chance.die(6) as u8).unwrap();
    assert_eq!(die.max_of(0), Err(Error::NoCopies));
    assert_eq!(die.min_of(0), Err(Error::NoCopies));
    assert_eq!(die.sum_of(100), Err(Error::Overflow { value: 600 }));
    assert_eq!(die.sum_of(0).unwrap().outcomes().collect::<Vec<_>>(), [&0]);
}
