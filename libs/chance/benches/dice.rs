//! The cost of a thousand dice and of ten million draws: `cargo bench -p chance`.
use std::hint::black_box;
use std::time::Instant;

use chance::{Chance, Distribution, Error, Expectation, Experiment, Simulation, constant};

const DRAWS: usize = 10_000_000;

fn die(chance: &mut Chance) -> u32 {
    chance.die(6)
}

fn roll_3d6(chance: &mut Chance) -> u32 {
    chance.die(6) + chance.die(6) + chance.die(6)
}

/// Prints the fastest of five runs: the time of the machine without disturbance.
fn print<T>(label: &str, work: impl Fn() -> Result<T, Error>) -> Result<(), Error> {
    let mut times_ms = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        black_box(work()?);
        times_ms.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times_ms.sort_by(f64::total_cmp);
    println!("{label:<52} {:>9.2} ms  (median {:.2}, slowest {:.2})", times_ms[0], times_ms[2], times_ms[4]);
    Ok(())
}

fn main() -> Result<(), Error> {
    println!("{:<52} {:>9}", "", "fastest of 5");
    let steps = || constant(0_u32).repeat(1000, |chance: &mut Chance, sum| sum + chance.die(6));
    print("sum of 1,000 dice, closed form, exact rationals", || Distribution::exact(&die)?.sum_of(1000))?;
    print("sum of 1,000 dice, closed form, f64", || Distribution::floating(&die)?.sum_of(1000))?;
    print("sum of 1,000 dice, step by step, exact rationals", || Distribution::exact(&steps()))?;
    print("sum of 1,000 dice, step by step, f64", || Distribution::floating(&steps()))?;
    print("P(1,000 dice = 3500) alone, exact", || Expectation::exact(&die.sum_of(1000)).probability_of(&3500))?;
    let thousand = Distribution::exact(&die)?.sum_of(1000)?;
    print("mean and variance of 1,000 dice, exact", || Ok((thousand.mean(), thousand.variance())))?;
    print("3d6, enumerated, exact rationals", || Distribution::exact(&roll_3d6))?;
    print("10,000,000 draws of 3d6, die by die", || {
        Simulation::seeded(1).runs(&roll_3d6).take(DRAWS).try_fold(0_u64, |sum, total| Ok(sum + u64::from(total?)))
    })?;
    let source = Distribution::exact(&roll_3d6)?.source();
    print("10,000,000 draws of 3d6, from its distribution", || {
        let draw = |chance: &mut Chance| *chance.draw(&source);
        Simulation::seeded(1).runs(&draw).take(DRAWS).try_fold(0_u64, |sum, total| Ok(sum + u64::from(total?)))
    })
}
