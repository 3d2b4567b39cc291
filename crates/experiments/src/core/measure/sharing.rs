//! When a core was shared: the stretches of it, piece by piece of the run and by the hour of the day, and the blocks of
//! steps that depend on each other.

use crate::core::record::{Hour, Piece, Stretches};
use instruments::neighbour::Sharing;
use instruments::statistics::Interval;
use instruments::statistics::blocks::share_interval;
use instruments::statistics::order::median;
use instruments::statistics::summary::CONFIDENCE;
use record::Bin;
use std::collections::BTreeMap;

/// Bins an octave of the histogram.
const AN_OCTAVE: f64 = 4.0;
/// Pieces of the timeline at most, and steps in each at least.
const PIECES: usize = 240;
const STEPS_A_PIECE: usize = 20;
/// A pause between two steps that is longer, and as long as several steps, belongs to another turn.
const LONGEST_PAUSE_S: f64 = 0.005;
const LONGEST_PAUSE_STEPS: f64 = 4.0;

/// Of steps, by the time at which they began: a stretch begins with a shared step and ends with the first that is
/// alone. Steps that are neither belong to what was before. One that nobody saw end lasted for its steps at least.
pub fn stretches(steps: &[(f64, Sharing)]) -> Stretches {
    // Those of a long run are long, so that there is room for all.
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

/// The share of shared steps, piece by piece.
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

/// So many blocks of a run at most: moods of the machine outlast a stretch.
const MOST: usize = 32;

/// For each step the number of its block. A block has whole stretches, shared ones and those alone after them, and is
/// no shorter than its part of the run. Steps that are neither belong to what was before.
pub fn blocks(told: &[(f64, Sharing)]) -> Vec<usize> {
    let shortest = told.len().div_ceil(MOST);
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
    told.iter().map(number).collect()
}

/// Of the share of shared steps among those that are alone or shared, by the block of each step.
pub fn shared_share_ci(told: &[(f64, Sharing)], blocks: &[usize]) -> Option<Interval> {
    let mut counts = vec![(0.0, 0.0); blocks.last()? + 1];
    for ((_, sharing), &block) in told.iter().zip(blocks).filter(|((_, sharing), _)| *sharing != Sharing::Neither) {
        let (shared, all) = &mut counts[block];
        *shared += f64::from(u8::from(*sharing == Sharing::Shared));
        *all += 1.0;
    }
    share_interval(&counts, CONFIDENCE)
}

const HOUR_S: f64 = 3600.0;

/// Of steps, by their seconds since the run began, and of a run that began at this second since 1970.
pub fn hours(steps: &[(f64, Sharing)], began_unix_s: u64) -> Vec<Hour> {
    let mut counts = [(0_u64, 0_u64); 24];
    for (at_s, sharing) in steps {
        let hour = ((began_unix_s as f64 + at_s) / HOUR_S) as usize % counts.len();
        let (alone, shared) = &mut counts[hour];
        *alone += u64::from(*sharing == Sharing::Alone);
        *shared += u64::from(*sharing == Sharing::Shared);
    }
    // Steps of a run lie equally far apart.
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
    fn a_stretch_goes_from_the_first_shared_step_to_the_next_alone() {
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
    fn a_step_between_pauses_is_not_without_length() {
        let turn = |from: f64| [(from, Shared), (from + 0.001, Alone), (from + 0.002, Alone), (from + 0.003, Shared)];
        let found = stretches(&[turn(0.0), turn(1.0), turn(2.0)].concat());
        let counted: u64 = found.histogram.iter().map(|bin| bin.count).sum();
        assert!(counted == found.count && found.median_ms.unwrap() > 0.5, "{found:?}");
    }

    #[test]
    fn the_long_steps_of_a_long_run_are_no_pauses() {
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
    fn a_block_begins_with_the_stretch_that_is_shared() {
        let kinds = [Alone, Shared, Neither, Shared, Alone, Neither, Shared, Alone, Shared];
        assert_eq!(of(&kinds), [0, 1, 1, 1, 1, 1, 2, 2, 3]);
        assert_eq!(of(&[Shared, Alone, Shared]), [0, 0, 1]);
        assert_eq!(of(&[]), [0; 0]);
    }

    /// A neighbour who comes for some 30 ms and stays away for some 70, looked at every half millisecond.
    #[test]
    fn the_share_is_within_its_interval_about_as_often_as_that_says() {
        const RUNS: usize = 400;
        let mut rng = fastrand::Rng::with_seed(2);
        let mut run = || {
            let mut told = Vec::new();
            while told.len() < 10_000 {
                for (sharing, mean) in [(Alone, 140.0), (Shared, 60.0)] {
                    let steps = -(1.0 - rng.f64()).ln() * mean;
                    (0..steps as usize).for_each(|_| told.push((told.len() as f64 / 2e3, sharing)));
                    told.push((0.0, Neither));
                }
            }
            shared_share_ci(&told, &blocks(&told))
        };
        let covered = (0..RUNS).filter(|_| run().is_some_and(|ends| ends.contains(0.3))).count() as f64 / RUNS as f64;
        assert!((0.92..=0.98).contains(&covered), "covered {covered}");
    }

    #[test]
    fn no_stretch_is_cut_and_short_ones_are_joined() {
        let half = |place: usize| if place < 500 { Shared } else { [Alone, Shared][place % 2] };
        let found = of(&(0..1_000).map(half).collect::<Vec<_>>());
        assert!(found[..500].iter().all(|block| *block == 0), "{found:?}");
        assert_eq!(found[999], 16, "each a 32nd of the run");
    }

    #[test]
    fn a_night_over_midnight_is_told_by_its_hours() {
        // A step a minute from 22:30 on, for 26 hours: the half hour after 22:30 is seen twice.
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
