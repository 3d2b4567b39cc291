//! What each child looped in short pieces of a run, and who was on its core meanwhile.
//!
//! A run is longer than the moods of a neighbour, so each child looks every other millisecond, outside the lock, and
//! notes what it has looped since. Afterwards the run is cut into windows; a window in which all children had their
//! cores for themselves counts as alone, whatever the run was. Only where there are no more children than CPUs: a child
//! that waits for its CPU has no core of its own.

use instruments::clock::Clock;
use instruments::neighbour::{Probe, Probed, Reading, Sharing};
use std::time::Duration;

/// What a child looped between two looks.
#[derive(Clone, Copy)]
pub struct Piece {
    /// In ticks.
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

    /// What all probes of a child said.
    pub fn probes(&self) -> impl Iterator<Item = &Probed> {
        self.iter().map(|piece| &piece.probed)
    }
}

/// How children look.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    pub probe: Probe,
    every_ticks: u64,
    /// The clock is read when these bits of the number of rounds are 0: reading it each time would cost as much as some
    /// locks, and a division as much as a whole round of none.
    mask: u64,
}

const LOOK_EVERY: Duration = Duration::from_micros(1_500);
const MOST_ROUNDS: u64 = 64;

impl Looks {
    /// In a run so long, with loops of about so many nanoseconds.
    pub fn of(probe: Probe, clock: Clock, run: Duration, loop_ns: f64) -> Self {
        let every = LOOK_EVERY.max(run / (MOST_PIECES as u32 * 3 / 4));
        let rounds = (every.as_nanos() as f64 / (4.0 * loop_ns.max(1.0))).max(1.0) as u64;
        Self { probe, every_ticks: clock.ticks_in(every), mask: (1 << rounds.min(MOST_ROUNDS).ilog2()) - 1 }
    }
}

/// A child that looks.
pub struct Looker {
    looks: Looks,
    clock: Clock,
    next: u64,
    last: Option<(u64, u64, Reading)>,
}

impl Looker {
    pub fn new(looks: Looks, clock: Clock) -> Self {
        Self { looks, clock, next: 0, last: None }
    }

    /// Looks, if it is time; `all` and `counted` are the rounds so far.
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

/// Loops a second of all children in the windows of a run, and whose cores they had.
pub fn windows<'a>(
    children: &[impl Iterator<Item = &'a Piece> + Clone],
    clock: Clock,
    sharing: impl Fn(&[Probed]) -> Sharing,
) -> Vec<(f64, Sharing)> {
    // Where all of them were looking.
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
    /// The share of it that lies between.
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

    fn told(probes: &[Probed]) -> Sharing {
        if probes.iter().all(|probed| probed.most < 4.0) { Sharing::Alone } else { Sharing::Shared }
    }

    #[test]
    fn a_window_counts_the_loops_of_all_children_and_is_alone_if_all_are() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let window = clock.ticks_in(LOOK_EVERY);
        let first = [piece(0, 2 * window, 2_000, 3.0), piece(2 * window, 4 * window, 1_000, 3.0)];
        let second = [piece(0, 2 * window, 500, 3.0), piece(2 * window, 4 * window, 500, 6.0)];
        let found = windows(&[first.iter(), second.iter()], clock, told);
        let per_window: Vec<f64> = found.iter().map(|(per_s, _)| per_s * clock.to_ns(window) / 1e9).collect();
        assert_eq!(per_window.len(), 3);
        assert!((per_window[0] - 1_250.0).abs() < 1.0 && (per_window[2] - 750.0).abs() < 1.0, "{per_window:?}");
        let told: Vec<Sharing> = found.iter().map(|(_, sharing)| *sharing).collect();
        assert_eq!(told, [Sharing::Alone, Sharing::Alone, Sharing::Shared]);
    }

    #[test]
    fn a_child_that_never_looked_leaves_no_window() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let (looked, not) = ([piece(0, clock.ticks_in(LOOK_EVERY) * 9, 9, 3.0)], []);
        assert!(windows(&[looked.iter(), not.iter()], clock, told).is_empty());
    }

    #[test]
    fn looks_are_at_most_as_many_as_there_is_room_for() {
        let mut pieces = Pieces::default();
        (0..1_000).for_each(|place| pieces.push(piece(place, place + 1, 1, 3.0)));
        assert_eq!(pieces.iter().count(), MOST_PIECES);
    }
}
