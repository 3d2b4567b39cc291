//! The row of a CPU: the times in which its core was shared, and the loss of each kind of code then.

use super::watch::{Observed, Ran, Step, Watch};
use crate::core::record::{Cost, Hour, Memory, PairRow, Piece, Row, Stretches};
use instruments::neighbour::{self, CoreWidth, KINDS, Sharing};
use instruments::statistics::Interval;
use instruments::statistics::blocks::{median_interval, share_interval};
use instruments::statistics::comparison::{Estimate, RunToRun, compare};
use instruments::statistics::order::{median, sample_quantile};
use instruments::statistics::summary::CONFIDENCE;
use record::Bin;
use std::collections::BTreeMap;

/// Returns the row; `None` for a CPU that was never sampled.
pub fn row(cpu: usize, seen: &Observed, watch: &Watch, pairs: Vec<PairRow>, began_unix_s: u64) -> Option<Row> {
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
        pairs,
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
fn costs(steps: &[Step], classified: &[(f64, Sharing)], blocks: &[usize], step_ns: f64) -> Vec<Cost> {
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

/// The bins per octave of the histogram.
const AN_OCTAVE: f64 = 4.0;
/// The maximum number of pieces of the timeline, and the minimum number of steps in each.
const PIECES: usize = 240;
const STEPS_A_PIECE: usize = 20;
/// The pause between two steps that, if it is also as long as several steps, separates two repetitions.
const LONGEST_PAUSE_S: f64 = 0.005;
const LONGEST_PAUSE_STEPS: f64 = 4.0;

/// Returns the stretches of steps, which are given by their begin: a stretch begins with a shared step and ends with
/// the first exclusive one.
///
/// Undecided steps belong to the state before. A stretch whose end was not observed lasted at least for its steps.
fn stretches(steps: &[(f64, Sharing)]) -> Stretches {
    // The steps of a long run are long, so that all fit.
    let apart: Vec<f64> = steps.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let step_s = median(&apart).unwrap_or_default();
    let longest_pause_s = (LONGEST_PAUSE_STEPS * step_s).max(LONGEST_PAUSE_S);
    let mut lengths_ns = Vec::new();
    let (mut since, mut last): (Option<f64>, f64) = (None, f64::NEG_INFINITY);
    for &(at_s, sharing) in steps {
        let is_broken = at_s - last > longest_pause_s;
        if let Some(from) = since.filter(|_| is_broken || sharing == Sharing::Alone) {
            let until = if is_broken { last + step_s } else { at_s };
            lengths_ns.push((until - from) * 1e9);
            since = None;
        }
        if sharing == Sharing::Shared {
            since.get_or_insert(at_s);
        }
        last = at_s;
    }
    lengths_ns.extend(since.map(|from| (last + step_s - from) * 1e9));
    Stretches {
        count: lengths_ns.len() as u64,
        median_ms: median(&lengths_ns).map(|ns| ns / 1e6),
        longest_ms: lengths_ns.iter().copied().reduce(f64::max).map(|ns| ns / 1e6),
        histogram: histogram(&lengths_ns),
    }
}

fn histogram(lengths_ns: &[f64]) -> Vec<Bin> {
    let mut bins: BTreeMap<i32, u64> = BTreeMap::new();
    for &ns in lengths_ns.iter().filter(|ns| **ns > 0.0) {
        *bins.entry((ns.log2() * AN_OCTAVE).floor() as i32).or_default() += 1;
    }
    let edge = |bin: i32| (f64::from(bin) / AN_OCTAVE).exp2();
    bins.into_iter().map(|(bin, count)| Bin { from_ns: edge(bin), to_ns: edge(bin + 1), count }).collect()
}

/// Returns the share of shared steps, piece by piece.
fn timeline(steps: &[(f64, Sharing)]) -> Vec<Piece> {
    let Some((end, _)) = steps.last() else { return Vec::new() };
    let pieces = (steps.len() / STEPS_A_PIECE).clamp(1, PIECES);
    let length = (end / pieces as f64).max(1e-6);
    let mut counts = vec![(0_u64, 0_u64); pieces];
    for (at_s, sharing) in steps {
        let (alone, shared) = &mut counts[((at_s / length) as usize).min(pieces - 1)];
        match sharing {
            Sharing::Alone => *alone += 1,
            Sharing::Shared => *shared += 1,
            Sharing::Neither => {}
        }
    }
    let share = |(alone, shared): &(u64, u64)| (alone + shared > 0).then(|| *shared as f64 / (alone + shared) as f64);
    let piece = |(place, counts)| Piece { from_s: place as f64 * length, shared_share: share(counts) };
    counts.iter().enumerate().map(piece).collect()
}

/// The maximum number of blocks of a run: phases of the machine outlast a stretch.
const MOST: usize = 32;

/// Returns the number of each step's block.
///
/// A block has whole stretches, shared ones and the exclusive ones after them, and is at least as long as its part of
/// the run. Undecided steps belong to the state before.
fn blocks(classified: &[(f64, Sharing)]) -> Vec<usize> {
    let shortest = classified.len().div_ceil(MOST);
    let (mut block, mut length, mut is_shared) = (0, 0, true);
    let number = |(_, sharing): &(f64, Sharing)| {
        if *sharing == Sharing::Shared && !is_shared && length >= shortest {
            (block, length) = (block + 1, 0);
        }
        if *sharing != Sharing::Neither {
            is_shared = *sharing == Sharing::Shared;
        }
        length += 1;
        block
    };
    classified.iter().map(number).collect()
}

/// Returns the interval of the share of shared steps among those that are decided, by the block of each step.
fn shared_share_ci(classified: &[(f64, Sharing)], blocks: &[usize]) -> Option<Interval> {
    let mut counts = vec![(0.0, 0.0); blocks.last()? + 1];
    for ((_, sharing), &block) in classified.iter().zip(blocks).filter(|((_, sharing), _)| *sharing != Sharing::Neither)
    {
        let (shared, all) = &mut counts[block];
        *shared += f64::from(u8::from(*sharing == Sharing::Shared));
        *all += 1.0;
    }
    share_interval(&counts, CONFIDENCE)
}

const HOUR_S: f64 = 3600.0;

/// Returns the hours of the steps, which are given in seconds since the run began; the run began at this second since
/// 1970.
fn hours(steps: &[(f64, Sharing)], began_unix_s: u64) -> Vec<Hour> {
    let mut counts = [(0_u64, 0_u64); 24];
    for (at_s, sharing) in steps {
        let hour = ((began_unix_s as f64 + at_s) / HOUR_S) as usize % counts.len();
        let (alone, shared) = &mut counts[hour];
        *alone += u64::from(*sharing == Sharing::Alone);
        *shared += u64::from(*sharing == Sharing::Shared);
    }
    // The steps of a run are equally spaced.
    let apart_s = match steps {
        [(first, _), .., (last, _)] => (last - first) / (steps.len() - 1) as f64,
        _ => 0.0,
    };
    let hour = |(hour, &(alone, shared)): (usize, &(u64, u64))| {
        let steps = alone + shared;
        let (hour, seconds, shared_share) = (hour as u8, steps as f64 * apart_s, shared as f64 / steps as f64);
        (steps > 0).then_some(Hour { hour, steps, seconds, shared_share })
    };
    counts.iter().enumerate().filter_map(hour).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Sharing::{Alone, Neither, Shared};
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

    #[test]
    fn stretch_ends_at_the_first_exclusive_step() {
        let kinds = [Alone, Shared, Neither, Shared, Alone, Neither, Shared, Alone, Shared];
        let steps: Vec<_> = kinds.iter().enumerate().map(|(place, kind)| (place as f64 * 1e-3, *kind)).collect();
        let found = stretches(&steps);
        assert_eq!(found.count, 3);
        assert!((found.longest_ms.unwrap() - 3.0).abs() < 1e-6 && (found.median_ms.unwrap() - 1.0).abs() < 1e-6);
        assert_eq!(found.histogram.iter().map(|bin| bin.count).sum::<u64>(), 3, "the last lasts for its step");
    }

    #[test]
    fn no_stretch_spans_a_pause() {
        let steps = [(0.0, Shared), (0.001, Shared), (0.002, Shared), (2.0, Shared), (2.001, Shared), (2.002, Alone)];
        let found = stretches(&steps);
        assert_eq!(found.count, 2);
        assert!((found.longest_ms.unwrap() - 3.0).abs() < 1e-6, "it was not seen to end");
    }

    #[test]
    fn step_between_pauses_has_a_length() {
        let turn = |from: f64| [(from, Shared), (from + 0.001, Alone), (from + 0.002, Alone), (from + 0.003, Shared)];
        let found = stretches(&[turn(0.0), turn(1.0), turn(2.0)].concat());
        let counted: u64 = found.histogram.iter().map(|bin| bin.count).sum();
        assert!(counted == found.count && found.median_ms.unwrap() > 0.5, "{found:?}");
    }

    #[test]
    fn long_steps_of_a_long_run_are_not_pauses() {
        let kinds = [Alone, Shared, Shared, Shared, Alone];
        let steps: Vec<_> = kinds.iter().enumerate().map(|(place, kind)| (place as f64 * 9e-3, *kind)).collect();
        let found = stretches(&steps);
        assert_eq!(found.count, 1);
        assert!((found.longest_ms.unwrap() - 27.0).abs() < 1e-6);
    }

    #[test]
    fn the_timeline_has_the_share_of_each_piece() {
        let half = |place: usize| if place < 12_000 { Shared } else { Alone };
        let steps: Vec<_> = (0..24_000).map(|place| (place as f64 * 1e-3, half(place))).collect();
        let pieces = timeline(&steps);
        assert_eq!((pieces.len(), pieces[10].shared_share, pieces[200].shared_share), (240, Some(1.0), Some(0.0)));
        assert_eq!(timeline(&[]), []);
    }

    fn of(kinds: &[Sharing]) -> Vec<usize> {
        blocks(&kinds.iter().enumerate().map(|(place, kind)| (place as f64, *kind)).collect::<Vec<_>>())
    }

    #[test]
    fn block_begins_with_a_shared_stretch() {
        let kinds = [Alone, Shared, Neither, Shared, Alone, Neither, Shared, Alone, Shared];
        assert_eq!(of(&kinds), [0, 1, 1, 1, 1, 1, 2, 2, 3]);
        assert_eq!(of(&[Shared, Alone, Shared]), [0, 0, 1]);
        assert_eq!(of(&[]), [0; 0]);
    }

    /// A sibling that is active for about 30 ms and idle for about 70, probed every half millisecond.
    #[test]
    fn interval_of_the_share_has_its_nominal_coverage() {
        const RUNS: usize = 400;
        let mut rng = fastrand::Rng::with_seed(2);
        let mut run = || {
            let mut classified = Vec::new();
            while classified.len() < 10_000 {
                for (sharing, mean) in [(Alone, 140.0), (Shared, 60.0)] {
                    let steps = -(1.0 - rng.f64()).ln() * mean;
                    (0..steps as usize).for_each(|_| classified.push((classified.len() as f64 / 2e3, sharing)));
                    classified.push((0.0, Neither));
                }
            }
            shared_share_ci(&classified, &blocks(&classified))
        };
        let covered = (0..RUNS).filter(|_| run().is_some_and(|ends| ends.contains(0.3))).count() as f64 / RUNS as f64;
        assert!((0.92..=0.98).contains(&covered), "covered {covered}");
    }

    #[test]
    fn stretches_are_whole_and_short_ones_are_joined() {
        let half = |place: usize| if place < 500 { Shared } else { [Alone, Shared][place % 2] };
        let found = of(&(0..1_000).map(half).collect::<Vec<_>>());
        assert!(found[..500].iter().all(|block| *block == 0), "{found:?}");
        assert_eq!(found[999], 16, "each a 32nd of the run");
    }

    #[test]
    fn night_over_midnight_is_divided_by_hours() {
        // A step a minute from 22:30 on, for 26 hours: the half hour after 22:30 occurs twice.
        let began = 86_400 * 20_000 + 22 * 3_600 + 1_800;
        let of = |minute: usize| match ((minute + 30) / 60 + 22) % 24 {
            23 => Shared,
            0 => [Alone, Shared][minute % 2],
            5 => Neither,
            _ => Alone,
        };
        let steps: Vec<_> = (0..26 * 60).map(|minute| (minute as f64 * 60.0, of(minute))).collect();
        let found = hours(&steps, began);
        let at = |hour: u8| found.iter().find(|one| one.hour == hour).map(|one| (one.steps, one.shared_share));
        assert!(found.iter().all(|one| (one.seconds - 60.0 * one.steps as f64).abs() < 1e-6), "{found:?}");
        assert_eq!(found.len(), 23, "one hour was neither: {found:?}");
        assert_eq!(
            (at(22), at(23), at(0), at(1), at(5)),
            (Some((90, 0.0)), Some((120, 1.0)), Some((90, 0.5)), Some((60, 0.0)), None)
        );
    }
}
