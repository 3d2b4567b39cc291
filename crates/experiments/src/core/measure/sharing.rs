//! The times in which a core was shared: the stretches, by piece of the run and by the hour of the day, and the blocks
//! of dependent steps.

use crate::core::record::{Hour, Piece, Stretches};
use instruments::neighbour::Sharing;
use instruments::statistics::Interval;
use instruments::statistics::blocks::share_interval;
use instruments::statistics::order::median;
use instruments::statistics::summary::CONFIDENCE;
use record::Bin;
use std::collections::BTreeMap;

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
pub fn stretches(steps: &[(f64, Sharing)]) -> Stretches {
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
pub fn timeline(steps: &[(f64, Sharing)]) -> Vec<Piece> {
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
pub fn blocks(classified: &[(f64, Sharing)]) -> Vec<usize> {
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
pub fn shared_share_ci(classified: &[(f64, Sharing)], blocks: &[usize]) -> Option<Interval> {
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
pub fn hours(steps: &[(f64, Sharing)], began_unix_s: u64) -> Vec<Hour> {
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
