//! The three interpretations of any experiment agree, and closed forms agree with the enumeration.
use chance::{BigRational, Chance, Distribution, Exact, Expectation, Experiment, Simulation, Source, Weight, constant};
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
