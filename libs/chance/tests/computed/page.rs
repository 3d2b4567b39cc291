//! The figures that "Warm fuzzy things for random simulations" prints, to every digit.
use chance::{BigRational, Chance, Distribution, Expectation, Experiment, Simulation};
use num_traits::One;

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
