//! What each kind of code loses while the core is shared.

use super::observed::{Ran, Step};
use crate::core::record::Cost;
use instruments::neighbour::{KINDS, Sharing};
use instruments::statistics::blocks::median_interval;
use instruments::statistics::comparison::{Estimate, RunToRun, compare};
use instruments::statistics::order::median;
use instruments::statistics::summary::CONFIDENCE;

const FEWEST_VALUES: usize = 20;

/// What a kind's loop took, block by block.
#[derive(Clone)]
struct Values {
    alone: Vec<Vec<f64>>,
    shared: Vec<Vec<f64>>,
}

/// Of each kind, in the order of [`KINDS`], by a clock that advances by `step_ns`. Steps of one block hang together.
pub fn costs(steps: &[Step], told: &[(f64, Sharing)], blocks: &[usize], step_ns: f64) -> Vec<Cost> {
    let empty = vec![Vec::new(); blocks.last().map_or(0, |last| last + 1)];
    let mut values = vec![Values { alone: empty.clone(), shared: empty }; KINDS.len()];
    for ((step, (_, sharing)), &block) in steps.iter().zip(told).zip(blocks) {
        let Ran::Kind(kind, ns) = step.ran else { continue };
        let Values { alone, shared } = &mut values[usize::from(kind)];
        match sharing {
            Sharing::Alone => alone[block].push(f64::from(ns)),
            Sharing::Shared => shared[block].push(f64::from(ns)),
            Sharing::Neither => {}
        }
    }
    KINDS.iter().zip(values).map(|(kind, values)| cost(kind.name, &values, step_ns)).collect()
}

fn cost(kind: &str, values: &Values, step_ns: f64) -> Cost {
    let alone = estimate(&values.alone, step_ns);
    let shared = estimate(&values.shared, step_ns);
    // Where all values fall on one step, no sample of them shows what the clock leaves open: the comparison does.
    let ratio = alone.zip(shared).and_then(|(alone, shared)| compare(&alone, &shared, RunToRun::NONE));
    // Without an interval a median would pass for certain.
    let known = [alone, shared].iter().all(|side| side.is_some_and(|side| side.interval.is_some()));
    Cost {
        kind: kind.to_owned(),
        alone_ns: alone.map(|alone| alone.value),
        shared_ns: shared.map(|shared| shared.value),
        ratio: ratio.map(|ratio| ratio.ratio),
        ratio_ci: ratio.filter(|_| known).map(|ratio| ratio.interval),
    }
}

fn estimate(blocks: &[Vec<f64>], step_ns: f64) -> Option<Estimate> {
    let all = blocks.concat();
    let value = median(&all).filter(|_| all.len() >= FEWEST_VALUES)?;
    Some(Estimate { value, interval: median_interval(blocks, CONFIDENCE), resolution: step_ns })
}

#[cfg(test)]
mod tests {
    use super::super::blocks::blocks;
    use super::*;
    use fastrand::Rng;
    use instruments::neighbour::{Probed, Reading};

    #[test]
    fn an_interval_is_no_narrower_than_the_clock() {
        let of = |ns: f64| vec![vec![ns; 10]; 10];
        let found = cost("store to load", &Values { alone: of(120.0), shared: of(220.0) }, 10.0);
        let ends = found.ratio_ci.unwrap();
        assert!(ends.low <= 215.0 / 125.0 + 1e-9 && ends.high >= 225.0 / 115.0 - 1e-9, "{ends:?}");
    }

    /// Steps in stretches of some tens, alone and shared by turns, that have an offset in common; at the median the
    /// core costs half as much again while it is shared.
    fn run(stretches: usize, rng: &mut Rng) -> (Vec<Step>, Vec<(f64, Sharing)>) {
        let probed = Probed::at(Reading { cpu: 0, cycles: 3.0, cycles_per_ns: 3.0 });
        let (mut steps, mut told) = (Vec::new(), Vec::new());
        for stretch in 0..stretches {
            let (sharing, middle) = [(Sharing::Alone, 200.0), (Sharing::Shared, 300.0)][stretch % 2];
            let offset = 1.0 + 0.2 * rng.f64() - 0.1;
            for _ in 0..10 + rng.usize(..40) {
                let ns = middle * offset * (1.0 + 0.1 * rng.f64() - 0.05);
                let at_s = steps.len() as f64 / 1e4;
                steps.push(Step { at_s, probed, ran: Ran::Kind(0, ns as f32) });
                told.push((at_s, sharing));
            }
        }
        (steps, told)
    }

    #[test]
    fn intervals_cover_the_truth_about_as_often_as_they_say() {
        const RUNS: usize = 400;
        let mut rng = Rng::with_seed(14);
        for stretches in [30, 60, 200] {
            let covers = |_| {
                let (steps, told) = run(stretches, &mut rng);
                costs(&steps, &told, &blocks(&told), 0.0)[0].ratio_ci.is_some_and(|ends| ends.contains(1.5))
            };
            let share = (0..RUNS).map(covers).filter(|covers| *covers).count() as f64 / RUNS as f64;
            assert!((0.92..=0.98).contains(&share), "of {stretches} stretches: covered {share}");
        }
    }

    #[test]
    fn a_single_stretch_has_no_interval() {
        let (steps, told) = run(2, &mut Rng::with_seed(1));
        let found = &costs(&[steps.clone(), steps].concat(), &[told.clone(), told].concat(), &[0; 200], 0.0)[0];
        assert!(found.ratio.is_some() && found.ratio_ci.is_none(), "{found:?}");
    }
}
