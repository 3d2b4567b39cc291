//! The slowest of several at every starting moment, piece by piece.
//!
//! At each moment a worker's delay is constant or falls by a nanosecond each nanosecond, so the greatest of all is the
//! greater of the greatest constant and the greatest falling one: at most two pieces between two neighbouring moments
//! at which some worker's piece begins.

use super::line::Line;
use std::collections::BTreeMap;

/// Values with how many have them.
#[derive(Default)]
struct Many(BTreeMap<i128, usize>);

impl Many {
    fn add(&mut self, value: i128) {
        *self.0.entry(value).or_insert(0) += 1;
    }

    fn take(&mut self, value: i128) {
        if let Some(count) = self.0.get_mut(&value) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&value);
            }
        }
    }

    fn greatest(&self) -> Option<i128> {
        self.0.last_key_value().map(|(value, _)| *value)
    }
}

/// Where a worker's piece begins, whose it is, its value there beyond the longest work, and whether it falls.
type Begin = (u64, usize, i128, bool);

/// Pieces of `(from, to, time)`: delays evenly between two bounds, or all the same.
pub fn slowest(lines: &[Line], span_ns: u64, work_ns: u64) -> Vec<(u64, u64, u64)> {
    let mut begins: Vec<Begin> = Vec::new();
    for (worker, line) in lines.iter().enumerate() {
        // Who has less work is ahead by the difference.
        let ahead = i128::from(work_ns) - i128::from(line.work_ns);
        let value = |delay_ns: u64| i128::from(delay_ns) - ahead;
        let of = line.pieces().into_iter().map(|piece| (piece.from_ns, worker, value(piece.delay_ns), piece.falls));
        begins.extend(of);
    }
    begins.sort_unstable();
    let mut present: Vec<Option<(i128, bool)>> = vec![None; lines.len()];
    let (mut constant, mut falling) = (Many::default(), Many::default());
    let mut pieces = Vec::with_capacity(2 * begins.len());
    for (place, &(from, worker, value, falls)) in begins.iter().enumerate() {
        // What falls is kept as the moment at which it would be nothing: so it stays the same.
        let kept = if falls { value + i128::from(from) } else { value };
        if let Some((old, fell)) = present[worker].replace((kept, falls)) {
            if fell { falling.take(old) } else { constant.take(old) }
        }
        if falls {
            falling.add(kept)
        } else {
            constant.add(kept)
        }
        let to = begins.get(place + 1).map_or(span_ns, |next| next.0);
        if to > from {
            between(from, to, constant.greatest(), falling.greatest(), &mut pieces);
        }
    }
    pieces
}

/// The greater of a constant and of what is nothing at the moment `zero`, from one moment to another.
fn between(from: u64, to: u64, constant: Option<i128>, zero: Option<i128>, pieces: &mut Vec<(u64, u64, u64)>) {
    let floor = constant.unwrap_or(0).max(0);
    let turns = zero.map_or(from, |zero| (zero - floor).clamp(i128::from(from), i128::from(to)) as u64);
    if let Some(zero) = zero.filter(|_| turns > from) {
        let at = |moment: u64| (zero - i128::from(moment)) as u64;
        pieces.push((at(turns), at(from), turns - from));
    }
    if to > turns {
        pieces.push((floor as u64, floor as u64, to - turns));
    }
}
