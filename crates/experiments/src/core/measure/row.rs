//! The row of a CPU, and the loss of each kind of code while the core is shared.

use super::pairs::{Pairs, pairs_of};
use super::sharing::{blocks, hours, shared_share_ci, stretches, timeline};
use super::watch::Watch;
use super::watch::{Observed, Ran, Step};
use crate::core::record::{Cost, Memory, Row};
use instruments::neighbour::{self, CoreWidth, KINDS, Sharing};
use instruments::statistics::blocks::median_interval;
use instruments::statistics::comparison::{Estimate, RunToRun, compare};
use instruments::statistics::order::{median, sample_quantile};
use instruments::statistics::summary::CONFIDENCE;

/// Returns the row; `None` for a CPU that was never sampled.
pub fn row(cpu: usize, seen: &Observed, watch: &Watch, pairs: &Pairs, began_unix_s: u64) -> Option<Row> {
    let last = seen.steps.last()?;
    let core_width = &seen.core_width;
    let classified: Vec<(f64, Sharing)> =
        seen.steps.iter().map(|step| (step.at_s, core_width.sharing(&[step.probed]))).collect();
    let count = |wanted| classified.iter().filter(|(_, sharing)| *sharing == wanted).count() as f64;
    let (alone, shared, neither) = (count(Sharing::Alone), count(Sharing::Shared), count(Sharing::Neither));
    let blocks = blocks(&classified);
    let costs = costs(&seen.steps, &classified, &blocks, watch.probe.step_ns());
    let cost_of = |kind: &str| costs.iter().find(|cost| cost.kind == kind).and_then(|cost| cost.ratio);
    let agreement = Agreement::of(seen, &classified);
    let frequency_ghz = median(&seen.steps.iter().map(|step| f64::from(step.probed.cycles_per_ns)).collect::<Vec<_>>());
    let best_cycles = core_width.best(last.probed.cpu);
    let ticks = |cycles: f64| Some(cycles / frequency_ghz? / watch.clock.ns_per_tick());
    Some(Row {
        cpu,
        steps: classified.len() as u64,
        shared_share: (alone + shared > 0.0).then(|| shared / (alone + shared)),
        shared_share_ci: shared_share_ci(&classified, &blocks),
        neither_share: neither / classified.len() as f64,
        best_ticks: best_cycles.and_then(ticks),
        best_cycles,
        doubt: core_width.doubt(last.probed.cpu).map(|doubt| doubt.to_string()),
        frequency_ghz,
        cost_width: cost_of("width"),
        cost_latency: cost_of("latency"),
        costs,
        stretches: stretches(&classified),
        timeline: timeline(&classified),
        hours: hours(&classified, began_unix_s),
        memory: memory(&seen.memory),
        checked: agreement.checked,
        agreement_share: (agreement.classified > 0).then(|| agreement.agreed as f64 / agreement.classified as f64),
        pairs: pairs_of(cpu, pairs),
        beside: seen.beside.rows(),
    })
}

/// The agreement between short probes and long ones among them.
struct Agreement {
    checked: u64,
    /// The number that both found exclusive or shared.
    classified: u64,
    agreed: u64,
}

impl Agreement {
    fn of(seen: &Observed, classified: &[(f64, Sharing)]) -> Self {
        let long = |step: &crate::core::measure::watch::Step| match step.ran {
            Ran::LongProbe(probed) => Some(probed),
            Ran::Kind(..) => None,
        };
        let both: Vec<_> =
            seen.steps.iter().zip(classified).filter_map(|(step, (_, short))| Some((*short, long(step)?))).collect();
        // A longer probe hides less of its start-up, so its best time is learned separately.
        let mut core_width = CoreWidth::default();
        both.iter().for_each(|(_, probed)| _ = core_width.learn(probed));
        let both = both.iter().map(|(short, probed)| (*short, core_width.sharing(&[*probed])));
        let mut agreement = Self { checked: 0, classified: 0, agreed: 0 };
        for (short, long) in both {
            agreement.checked += 1;
            if short != Sharing::Neither && long != Sharing::Neither {
                agreement.classified += 1;
                agreement.agreed += u64::from(short == long);
            }
        }
        agreement
    }
}

fn memory(answers: &[neighbour::Memory]) -> Option<Memory> {
    let latencies: Vec<f64> = answers.iter().map(|answer| answer.latency_ns).collect();
    let reads: Vec<f64> = answers.iter().map(|answer| answer.bytes_per_ns).collect();
    Some(Memory {
        count: answers.len() as u64,
        latency_p10_ns: sample_quantile(&latencies, 0.1)?,
        latency_p50_ns: sample_quantile(&latencies, 0.5)?,
        latency_p90_ns: sample_quantile(&latencies, 0.9)?,
        read_p50_gb_per_s: sample_quantile(&reads, 0.5)?,
        read_p10_gb_per_s: sample_quantile(&reads, 0.1)?,
    })
}

const FEWEST_VALUES: usize = 20;

/// The times of a kind's loop, block by block.
#[derive(Clone)]
struct Values {
    alone: Vec<Vec<f64>>,
    shared: Vec<Vec<f64>>,
}

/// Returns the cost of each kind, in the order of [`KINDS`], by a clock that advances by `step_ns`.
///
/// Steps of one block are correlated.
pub fn costs(steps: &[Step], classified: &[(f64, Sharing)], blocks: &[usize], step_ns: f64) -> Vec<Cost> {
    let empty = vec![Vec::new(); blocks.last().map_or(0, |last| last + 1)];
    let mut values = vec![Values { alone: empty.clone(), shared: empty }; KINDS.len()];
    for ((step, (_, sharing)), &block) in steps.iter().zip(classified).zip(blocks) {
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
    // Where all values fall on one step, no sample of them shows the uncertainty of the clock: the comparison does.
    let ratio = alone.zip(shared).and_then(|(alone, shared)| compare(&alone, &shared, RunToRun::NONE));
    // Without an interval a median would be taken for exact.
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
    use super::*;
    use crate::core::measure::sharing::blocks;
    use fastrand::Rng;
    use instruments::neighbour::{Probed, Reading};

    #[test]
    fn an_interval_is_no_narrower_than_the_clock() {
        let of = |ns: f64| vec![vec![ns; 10]; 10];
        let found = cost("store to load", &Values { alone: of(120.0), shared: of(220.0) }, 10.0);
        let ends = found.ratio_ci.unwrap();
        assert!(ends.low <= 215.0 / 125.0 + 1e-9 && ends.high >= 225.0 / 115.0 - 1e-9, "{ends:?}");
    }

    /// Returns steps in stretches of some tens, alternately exclusive and shared, that have a common offset; at the
    /// median the core costs half as much again while it is shared.
    fn run(stretches: usize, rng: &mut Rng) -> (Vec<Step>, Vec<(f64, Sharing)>) {
        let probed = Probed::at(Reading { cpu: 0, cycles: 3.0, cycles_per_ns: 3.0 });
        let (mut steps, mut classified) = (Vec::new(), Vec::new());
        for stretch in 0..stretches {
            let (sharing, middle) = [(Sharing::Alone, 200.0), (Sharing::Shared, 300.0)][stretch % 2];
            let offset = 1.0 + 0.2 * rng.f64() - 0.1;
            for _ in 0..10 + rng.usize(..40) {
                let ns = middle * offset * (1.0 + 0.1 * rng.f64() - 0.05);
                let at_s = steps.len() as f64 / 1e4;
                steps.push(Step { at_s, probed, ran: Ran::Kind(0, ns as f32) });
                classified.push((at_s, sharing));
            }
        }
        (steps, classified)
    }

    #[test]
    fn intervals_have_their_nominal_coverage() {
        const RUNS: usize = 400;
        let mut rng = Rng::with_seed(14);
        for stretches in [30, 60, 200] {
            let covers = |_| {
                let (steps, classified) = run(stretches, &mut rng);
                costs(&steps, &classified, &blocks(&classified), 0.0)[0].ratio_ci.is_some_and(|ends| ends.contains(1.5))
            };
            let share = (0..RUNS).map(covers).filter(|covers| *covers).count() as f64 / RUNS as f64;
            assert!((0.92..=0.98).contains(&share), "of {stretches} stretches: covered {share}");
        }
    }

    #[test]
    fn a_single_stretch_has_no_interval() {
        let (steps, classified) = run(2, &mut Rng::with_seed(1));
        let found =
            &costs(&[steps.clone(), steps].concat(), &[classified.clone(), classified].concat(), &[0; 200], 0.0)[0];
        assert!(found.ratio.is_some() && found.ratio_ci.is_none(), "{found:?}");
    }
}
