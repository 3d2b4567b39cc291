//! The three interpretations of any experiment agree, closed forms agree with the enumeration, and invalid values stop
//! with an error.

use chance::{
    BigRational, Chance, Distribution, Error, Exact, Expectation, Experiment, Limits, Simulation, Source, Weight,
    constant,
};
use num_traits::One;
use proptest::prelude::*;

/// An experiment made of weights: each draw changes the state, which selects the source of the next draw.
#[derive(Debug, Clone)]
struct Machine {
    sources: Vec<Source<u32>>,
    steps: u64,
    condition: bool,
}

impl Machine {
    fn step(&self, chance: &mut Chance, state: u32) -> u32 {
        let source = &self.sources[state as usize % self.sources.len()];
        let next = (state * 3 + chance.draw(source)) % 17;
        chance.given(!self.condition || next != 5);
        if next % 4 == 1 { next + u32::from(chance.odds(2, 7)) } else { next }
    }

    fn at_once(&self) -> impl Experiment<Outcome = u32> {
        move |chance: &mut Chance| (0..self.steps).fold(0, |state, _| self.step(chance, state))
    }

    fn in_steps(&self) -> impl Experiment<Outcome = u32> {
        constant(0).repeat(self.steps, |chance: &mut Chance, state| self.step(chance, state))
    }
}

fn machines() -> impl Strategy<Value = Machine> {
    let weights = prop::collection::vec(1_u64..50, 1..4);
    let source = weights.prop_map(|weights| Source::weighted((0..).zip(weights)).unwrap());
    (prop::collection::vec(source, 1..4), 1_u64..4, any::<bool>()).prop_map(|(sources, steps, condition)| Machine {
        sources,
        steps,
        condition,
    })
}

fn same<T: Clone + Ord>(a: &Distribution<T, Exact>, b: &Distribution<T, Exact>) -> bool {
    a == b && a.evidence() == b.evidence()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn steps_merge_without_changing_an_answer(machine in machines()) {
        let Ok(direct) = Distribution::exact(&machine.at_once()) else { return Ok(()) };
        let stepped = Distribution::exact(&machine.in_steps()).unwrap();
        prop_assert!(same(&direct, &stepped));
        prop_assert!(direct.iter().map(|row| row.1).sum::<BigRational>().is_one());
        prop_assert!(machine.condition || direct.evidence().is_one());
    }

    #[test]
    fn expectation_and_f64_agree_with_the_exact_table(machine in machines()) {
        let Ok(exact) = Distribution::exact(&machine.in_steps()) else { return Ok(()) };
        let floating = Distribution::floating(&machine.in_steps()).unwrap();
        let steps = machine.in_steps();
        let question = Expectation::exact(&steps);
        for (outcome, probability) in exact.iter() {
            prop_assert_eq!(&question.probability_of(outcome).unwrap(), &probability);
            prop_assert!((floating.probability(outcome) - Exact::to_f64(&probability)).abs() < 1e-12);
        }
        let mean = question.mean(|outcome| BigRational::from_integer((*outcome).into())).unwrap();
        prop_assert_eq!(mean, exact.mean());
        prop_assert!((floating.evidence() - Exact::to_f64(&exact.evidence())).abs() < 1e-12);
    }

    #[test]
    fn a_simulation_approximates_the_exact_value(machine in machines(), seed: u64) {
        let Ok(exact) = Distribution::exact(&machine.in_steps()) else { return Ok(()) };
        let (truth, runs) = (Exact::to_f64(&exact.at_most(&8)), 2_000);
        let estimate = Simulation::seeded(seed).estimate(&machine.at_once(), |state| *state <= 8, runs).unwrap();
        // Six standard errors, and a margin for a probability close to 0 or 1.
        let error = (truth * (1.0 - truth) / runs as f64).sqrt();
        prop_assert!((estimate.probability() - truth).abs() <= 6.0 * error + 5.0 / runs as f64);
    }

    #[test]
    fn copies_agree_with_enumeration(
        rows in prop::collection::btree_map(-40_i64..40, 1_u64..30, 1..5),
        copies in 1_u64..5,
    ) {
        let source = Source::weighted(rows).unwrap();
        let each = source.distribution();
        let rolls = |fold: fn(i64, i64) -> i64| {
            let next = |so_far: Distribution<i64, Exact>, _| {
                so_far.then(|chance, a| fold(a, *chance.draw(&source))).unwrap()
            };
            (1..copies).fold(each.clone(), next)
        };
        prop_assert!(same(&rolls(|a, b| a + b), &each.sum_of(copies).unwrap()));
        prop_assert!(same(&rolls(i64::max), &each.max_of(copies).unwrap()));
        prop_assert!(same(&rolls(i64::min), &each.min_of(copies).unwrap()));
        let floating = each.to_floating();
        for (outcome, p) in each.sum_of(copies).unwrap().iter() {
            prop_assert!((floating.sum_of(copies).unwrap().probability(outcome) - Exact::to_f64(&p)).abs() < 1e-12);
        }
        for (outcome, p) in each.max_of(copies).unwrap().iter() {
            prop_assert!((floating.max_of(copies).unwrap().probability(outcome) - Exact::to_f64(&p)).abs() < 1e-12);
        }
    }

    #[test]
    fn alias_draws_follow_the_weights(weights in prop::collection::vec(1_u64..1000, 1..20), seed: u64) {
        let source = Source::weighted((0_usize..).zip(weights.iter().copied())).unwrap();
        let draw = |chance: &mut Chance| *chance.draw(&source);
        let runs = 5_000;
        let seen = Simulation::seeded(seed).sample(&draw, runs).unwrap();
        for (index, weight) in weights.iter().enumerate() {
            let p = *weight as f64 / source.total() as f64;
            let share = Exact::to_f64(&seen.probability(&index));
            prop_assert!((share - p).abs() <= 6.0 * (p * (1.0 - p) / runs as f64).sqrt() + 5.0 / runs as f64);
        }
    }
}

fn die(chance: &mut Chance) -> u32 {
    chance.die(6)
}

#[test]
fn a_thousand_dice_are_exact() {
    let thousand = Distribution::exact(&die).unwrap().sum_of(1000).unwrap();
    assert_eq!(thousand.len(), 5001);
    assert_eq!(thousand.mean(), BigRational::from_integer(3500.into()));
    assert!(thousand.at_most(&3499) == thousand.more_than(&3500));
    let least = thousand.probability(&1000);
    assert!(least.numer().is_one() && *least.denom() == num_bigint::BigInt::from(6).pow(1000));
    assert!((thousand.at_most(&6000)).is_one());
    // The normal density with the variance 1000·35/12, accurate to 1/1000 of itself at the centre.
    let normal = (std::f64::consts::TAU * 35_000.0 / 12.0).sqrt().recip();
    assert!((Exact::to_f64(&thousand.probability(&3500)) / normal - 1.0).abs() < 1e-3);
}

#[test]
fn closed_forms_equal_steps() {
    let steps = constant(0).repeat(150, |chance: &mut Chance, sum| sum + chance.die(6));
    let exact = Distribution::exact(&steps).unwrap();
    assert!(exact == Distribution::exact(&die).unwrap().sum_of(150).unwrap());
    assert_eq!(Expectation::exact(&die.sum_of(150)).probability_of(&500).unwrap(), exact.probability(&500));
    let floating = Distribution::floating(&die.sum_of(150)).unwrap();
    assert!(exact.iter().all(|(sum, p)| (floating.probability(sum) - Exact::to_f64(&p)).abs() < 1e-14));
}

/// The mean and the variance of a binomial are n·p and n·p·(1 − p); the tails are as small as `f64` can hold.
#[test]
fn a_million_coins_are_a_binomial() {
    let coin = Source::weighted([(0_u64, 1024), (1, 1)]).unwrap().distribution().to_floating();
    let (n, p) = (1_000_000_u64, 1.0 / 1025.0);
    let heads = coin.sum_of(n).unwrap();
    let (mean, variance) = (n as f64 * p, n as f64 * p * (1.0 - p));
    assert!((heads.mean() / mean - 1.0).abs() < 1e-9 && (heads.variance() / variance - 1.0).abs() < 1e-9);
    assert!((heads.iter().map(|row| row.1).sum::<f64>() - 1.0).abs() < 1e-9);
    let exact = Source::weighted([(0_u64, 1024), (1, 1)]).unwrap().distribution().sum_of(300).unwrap();
    for (outcome, probability) in coin.sum_of(300).unwrap().iter() {
        let truth = Exact::to_f64(&exact.probability(outcome));
        assert!((probability / truth - 1.0).abs() < 1e-9, "{outcome}: {probability} {truth}");
    }
}

#[test]
fn scattered_outcomes_are_summed_by_pairs() {
    let rare = Source::weighted([(0_i64, 5), (1, 2), (1_000_003, 1)]).unwrap();
    let five = rare.distribution().sum_of(5).unwrap();
    let steps = constant(0).repeat(5, |chance: &mut Chance, sum| sum + chance.draw(&rare));
    assert!(five == Distribution::exact(&steps).unwrap());
}

// The figures that "Warm fuzzy things for random simulations" prints, to every digit.

fn roll_3d6(chance: &mut Chance) -> u32 {
    chance.die(6) + chance.die(6) + chance.die(6)
}

/// An extra roll if any of the first three dice gave a six.
fn roll_3d6_b(chance: &mut Chance) -> u32 {
    let dice = [chance.die(6), chance.die(6), chance.die(6)];
    let sum: u32 = dice.iter().sum();
    if dice.contains(&6) { sum + chance.die(6) } else { sum }
}

const PRINTED: [&str; 16] = [
    "0.00462962962962963",
    "0.0138888888888889",
    "0.0277777777777778",
    "0.0462962962962963",
    "0.0694444444444444",
    "0.0972222222222222",
    "0.115740740740741",
    "0.125",
    "0.125",
    "0.115740740740741",
    "0.0972222222222222",
    "0.0694444444444444",
    "0.0462962962962963",
    "0.0277777777777778",
    "0.0138888888888889",
    "0.00462962962962963",
];

fn expected_table() -> String {
    (3..).zip(PRINTED).map(|(total, digits)| format!("{total:>2}  {digits}\n")).collect()
}

#[test]
fn three_dice_match_every_printed_digit_in_both_arithmetics() {
    assert_eq!(Distribution::exact(&roll_3d6).unwrap().table().to_string(), expected_table());
    assert_eq!(Distribution::floating(&roll_3d6).unwrap().table().to_string(), expected_table());
}

#[test]
fn a_probability_of_a_sum_agrees_with_the_table() {
    let (exact, floating) = (Expectation::exact(&roll_3d6), Expectation::floating(&roll_3d6));
    let all = Distribution::exact(&roll_3d6).unwrap();
    for total in 1..=21 {
        let single = exact.probability_of(&total).unwrap();
        assert_eq!(single, all.probability(&total));
        let printed = (total as usize).checked_sub(3).and_then(|row| PRINTED.get(row)).unwrap_or(&"0");
        let printed: f64 = printed.parse().unwrap();
        assert!((floating.probability_of(&total).unwrap() - printed).abs() < 1e-15);
    }
}

#[test]
fn the_extra_roll_sums_to_exactly_one() {
    let extra = Distribution::exact(&roll_3d6_b).unwrap();
    assert!(extra.iter().map(|row| row.1).sum::<BigRational>().is_one());
    assert!(extra.evidence().is_one());
    assert_eq!(extra.outcomes().copied().collect::<Vec<_>>(), (3..=24).collect::<Vec<_>>());
    let matching_codes = (0..6_u32.pow(4)).filter(|code| {
        let dice = [code % 6 + 1, code / 6 % 6 + 1, code / 36 % 6 + 1];
        dice.contains(&6) && dice.iter().sum::<u32>() + code / 216 + 1 == 18
    });
    assert_eq!(extra.probability(&18), BigRational::new((matching_codes.count() as i64).into(), 1296.into()));
}

#[test]
fn the_extra_roll_in_steps_is_the_same_experiment() {
    let dice = |chance: &mut Chance| {
        let dice = [chance.die(6), chance.die(6), chance.die(6)];
        (dice.iter().sum::<u32>(), dice.contains(&6))
    };
    let steps = dice.then(|chance, (sum, six)| if six { sum + chance.die(6) } else { sum });
    let (direct, stepped) = (Distribution::exact(&roll_3d6_b).unwrap(), Distribution::exact(&steps).unwrap());
    assert!(direct.iter().eq(stepped.iter()));
}

#[test]
fn intervals_of_1000_simulations_hold_the_value_95_percent() {
    let truth = Expectation::floating(&roll_3d6_b).probability(|total| *total >= 14).unwrap();
    let caught = |seed: &u64| {
        let estimate = Simulation::seeded(*seed).estimate(&roll_3d6_b, |total| *total >= 14, 2_000).unwrap();
        estimate.interval().contains(&truth)
    };
    let within = (0..1000).filter(caught).count();
    assert!((940..=960).contains(&within), "{within} of 1000");
}

// Values that are too large, endless, continuous or impossible stop with an error.

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
