//! In how long stretches a core was shared.

use crate::core::record::{Piece, Stretches};
use instruments::neighbour::Sharing;
use instruments::statistics::order::median;
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
}
