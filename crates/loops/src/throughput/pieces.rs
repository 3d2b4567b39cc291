//! The iterations of each child in short pieces of a run, and the SMT interference on its core in each.
//!
//! A run is longer than the phases of an SMT sibling, so each child probes every other millisecond, outside the lock,
//! and notes its iterations since then. Afterwards the run is cut into windows; a window in which all children had
//! their cores exclusively counts as exclusive, whatever the run was. This applies only where there are no more
//! children than CPUs: a child that waits for its CPU has no core.

use instruments::clock::Clock;
use instruments::neighbour::{Probe, Probed, Reading, Sharing};
use std::time::Duration;

/// The iterations of a child between two probes.
#[derive(Clone, Copy)]
pub struct Piece {
    /// The begin of the piece, in ticks.
    from: u64,
    until: u64,
    rounds: u64,
    probed: Probed,
}

const MOST_PIECES: usize = 128;

/// The pieces of a child, in memory that it shares with its parent.
pub struct Pieces {
    pieces: [Option<Piece>; MOST_PIECES],
    used: usize,
}

impl Default for Pieces {
    fn default() -> Self {
        Self { pieces: [None; MOST_PIECES], used: 0 }
    }
}

impl Pieces {
    fn push(&mut self, piece: Piece) {
        if let Some(place) = self.pieces.get_mut(self.used) {
            *place = Some(piece);
            self.used += 1;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Piece> + Clone {
        self.pieces.iter().flatten()
    }

    /// Returns the readings of all probes of a child.
    pub fn probes(&self) -> impl Iterator<Item = &Probed> {
        self.iter().map(|piece| &piece.probed)
    }
}

/// The way in which children probe.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    pub probe: Probe,
    every_ticks: u64,
    /// The clock is read when these bits of the number of iterations are 0.
    ///
    /// Reading it each time would cost as much as some locks, and a division as much as a whole iteration without a
    /// lock.
    mask: u64,
}

const LOOK_EVERY: Duration = Duration::from_micros(1_500);
const MOST_ROUNDS: u64 = 64;

impl Looks {
    /// Creates the settings for a run of this length, with loops of about this many nanoseconds.
    pub fn of(probe: Probe, clock: Clock, run: Duration, loop_ns: f64) -> Self {
        let every = LOOK_EVERY.max(run / (MOST_PIECES as u32 * 3 / 4));
        let rounds = (every.as_nanos() as f64 / (4.0 * loop_ns.max(1.0))).max(1.0) as u64;
        Self { probe, every_ticks: clock.ticks_in(every), mask: (1 << rounds.min(MOST_ROUNDS).ilog2()) - 1 }
    }
}

/// The probing state of a child.
pub struct Prober {
    looks: Looks,
    clock: Clock,
    next: u64,
    last: Option<(u64, u64, Reading)>,
}

impl Prober {
    pub fn new(looks: Looks, clock: Clock) -> Self {
        Self { looks, clock, next: 0, last: None }
    }

    /// Probes, if it is due; `all` and `counted` are the numbers of iterations so far.
    #[inline(always)]
    pub fn round_ended(&mut self, all: u64, counted: u64, counting: bool, pieces: &mut Pieces) {
        if all & self.looks.mask == 0 && self.clock.now() >= self.next {
            self.look(counted, counting, pieces);
        }
    }

    #[cold]
    fn look(&mut self, counted: u64, counting: bool, pieces: &mut Pieces) {
        let until = self.clock.now();
        let reading = self.looks.probe.take();
        if let Some((from, before, last)) = self.last {
            pieces.push(Piece { from, until, rounds: counted - before, probed: Probed::between(last, reading) });
        }
        let now = self.clock.now();
        self.last = counting.then_some((now, counted, reading));
        self.next = now + self.looks.every_ticks;
    }
}

/// Returns the iterations per second of all children in the windows of a run, and whether the cores were exclusive.
pub fn windows<'a>(
    children: &[impl Iterator<Item = &'a Piece> + Clone],
    clock: Clock,
    sharing: impl Fn(&[Probed]) -> Sharing,
) -> Vec<(f64, Sharing)> {
    // The begin of the time in which all of them probed.
    let opens = children.iter().map(|child| child.clone().map(|piece| piece.from).next()).max().flatten();
    let closes = children.iter().map(|child| child.clone().map(|piece| piece.until).last()).min().flatten();
    let (Some(opens), Some(closes)) = (opens, closes) else { return Vec::new() };
    let length = clock.ticks_in(LOOK_EVERY);
    let starts = (opens..closes.saturating_sub(length)).step_by(length.max(1) as usize);
    let window = |from: u64| {
        let until = from + length;
        let within =
            children.iter().flat_map(|child| child.clone().filter(move |piece| piece.overlap(from, until) > 0.0));
        let loops: f64 = within.clone().map(|piece| piece.rounds as f64 * piece.overlap(from, until)).sum();
        let probes: Vec<Probed> = within.map(|piece| piece.probed).collect();
        (loops / clock.to_ns(length) * 1e9, sharing(&probes))
    };
    starts.map(window).collect()
}

impl Piece {
    /// Returns the share of the piece that is between these times.
    fn overlap(&self, from: u64, until: u64) -> f64 {
        let common = self.until.min(until).saturating_sub(self.from.max(from));
        common as f64 / (self.until - self.from).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(from: u64, until: u64, rounds: u64, cycles: f32) -> Piece {
        let probed = Probed::at(Reading { cpu: 0, cycles, cycles_per_ns: 3.0 });
        Piece { from, until, rounds, probed }
    }

    fn sharing_of(probes: &[Probed]) -> Sharing {
        if probes.iter().all(|probed| probed.most < 4.0) { Sharing::Alone } else { Sharing::Shared }
    }

    #[test]
    fn window_counts_all_children_and_is_exclusive_if_all_are() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let window = clock.ticks_in(LOOK_EVERY);
        let first = [piece(0, 2 * window, 2_000, 3.0), piece(2 * window, 4 * window, 1_000, 3.0)];
        let second = [piece(0, 2 * window, 500, 3.0), piece(2 * window, 4 * window, 500, 6.0)];
        let found = windows(&[first.iter(), second.iter()], clock, sharing_of);
        let per_window: Vec<f64> = found.iter().map(|(per_s, _)| per_s * clock.to_ns(window) / 1e9).collect();
        assert_eq!(per_window.len(), 3);
        assert!((per_window[0] - 1_250.0).abs() < 1.0 && (per_window[2] - 750.0).abs() < 1.0, "{per_window:?}");
        let sharing: Vec<Sharing> = found.iter().map(|(_, sharing)| *sharing).collect();
        assert_eq!(sharing, [Sharing::Alone, Sharing::Alone, Sharing::Shared]);
    }

    #[test]
    fn child_without_probes_leaves_no_window() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let (looked, not) = ([piece(0, clock.ticks_in(LOOK_EVERY) * 9, 9, 3.0)], []);
        assert!(windows(&[looked.iter(), not.iter()], clock, sharing_of).is_empty());
    }

    #[test]
    fn number_of_probes_is_limited_by_the_room() {
        let mut pieces = Pieces::default();
        (0..1_000).for_each(|place| pieces.push(piece(place, place + 1, 1, 3.0)));
        assert_eq!(pieces.iter().count(), MOST_PIECES);
    }
}
