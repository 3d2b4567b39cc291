//! What one thread's rounds add up to, slice by slice.
//!
//! Latencies are kept in ticks, less a baseline: what the same loop takes with no lock in it, in the same slice. The
//! core's frequency drifts by a per cent or so over seconds; over one slice it is steady.
//!
//! Beside a neighbour on the core a baseline takes half as long again, and who came between the baseline and the rounds
//! would be taken for a faster lock. So rounds that had the core for themselves are held against a baseline that had it
//! too, of this slice or else the last one that did, and those beside a neighbour against one beside a neighbour.

use super::baseline::{Baseline, undisturbed_mean};
use super::causes::SliceEvidence;
use super::latencies::Latencies;
use super::other_threads::OthersProbes;
use crate::latency::record::Operation;
use instruments::neighbour::Sharing;
use instruments::statistics::Thinned;
use loops::latency::{Round, Trace};
use std::ops::Range;

/// The latencies of all operations.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    pub lock: Latencies,
    pub unlock: Latencies,
    pub round_trip: Latencies,
}

/// One thread's latencies over all slices of a cell.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Of all rounds.
    pub all: Operations,
    /// Of those that had the core for themselves, and of those that did not.
    pub alone: Operations,
    pub shared: Operations,
    /// Pieces of slices that were the one and the other.
    pub alone_pieces: u64,
    pub shared_pieces: u64,
    /// How long the lock was held in each slice, in ticks.
    pub holds: Thinned<f64>,
    alone_baseline: Option<Baseline>,
    shared_baseline: Option<Baseline>,
    scratch: Vec<u32>,
}

/// A thread's part in a slice, as it is added up.
pub struct SliceRounds<'a> {
    pub trace: &'a Trace,
    /// Rounds that began in it count.
    pub window: Range<u64>,
    pub baseline: Baseline,
    /// Rounds, by their places in the trace, and who was on the core meanwhile.
    pub pieces: Vec<(Range<usize>, Sharing)>,
    /// When the other threads of the slice probed.
    pub probes: OthersProbes,
    /// The clock's step, in ticks.
    pub resolution: u64,
}

impl SliceRounds<'_> {
    /// The pieces without the rounds of this operation that another thread's probe spoiled, and how many those are.
    fn unspoiled(&self, operation: Operation) -> (Vec<(Range<usize>, Sharing)>, u64) {
        let spoiled = self.probes.spoiled(operation, self.trace.rounds());
        let excluded = spoiled.iter().filter(|place| self.window.contains(&self.trace.rounds()[**place].began));
        let excluded = excluded.count() as u64;
        let cut = |(range, sharing): &(Range<usize>, Sharing)| {
            let from = spoiled.partition_point(|place| *place < range.start);
            let until = spoiled.partition_point(|place| *place < range.end);
            let within = &spoiled[from..until];
            let starts = std::iter::once(range.start).chain(within.iter().map(|place| place + 1));
            let ends = within.iter().copied().chain([range.end]);
            starts.zip(ends).map(|(start, end)| (start..end, *sharing)).collect::<Vec<_>>()
        };
        (self.pieces.iter().flat_map(cut).collect(), excluded)
    }

    fn rounds_of<'a>(
        &'a self,
        pieces: &'a [(Range<usize>, Sharing)],
        sharing: Sharing,
    ) -> impl Iterator<Item = &'a Round> + Clone {
        let pieces = pieces.iter().filter(move |piece| piece.1 == sharing);
        let rounds = pieces.flat_map(|(range, _)| &self.trace.rounds()[range.clone()]);
        rounds.filter(|round| self.window.contains(&round.began))
    }

    fn pieces_of(&self, sharing: Sharing) -> u64 {
        let counts = |range: &Range<usize>| self.window.contains(&self.trace.rounds()[range.start].began);
        self.pieces.iter().filter(|(range, of)| *of == sharing && !range.is_empty() && counts(range)).count() as u64
    }
}

impl Operations {
    /// Adds a slice. The hold time belongs to a round trip, however long it was.
    fn add(&mut self, scratch: &mut Vec<u32>, slice: &SliceRounds<'_>, parts: &[(Sharing, Baseline)]) {
        for operation in Operation::ALL {
            let (pieces, excluded) = slice.unspoiled(operation);
            let ticks = |round: &Round| {
                let (start, end) = operation.span(round);
                end - start
            };
            let part = |(sharing, baseline): &(Sharing, Baseline)| {
                (slice.rounds_of(&pieces, *sharing).map(ticks), baseline.of(operation))
            };
            let parts: Vec<_> = parts.iter().map(part).collect();
            let tally = self.of_mut(operation);
            tally.add(scratch, &parts, slice.resolution);
            tally.excluded += excluded;
        }
    }

    fn of_mut(&mut self, operation: Operation) -> &mut Latencies {
        match operation {
            Operation::Lock => &mut self.lock,
            Operation::Unlock => &mut self.unlock,
            Operation::RoundTrip => &mut self.round_trip,
        }
    }

    pub fn of(&self, operation: Operation) -> &Latencies {
        match operation {
            Operation::Lock => &self.lock,
            Operation::Unlock => &self.unlock,
            Operation::RoundTrip => &self.round_trip,
        }
    }
}

impl Series {
    /// Adds the rounds of a slice.
    pub fn add(&mut self, slice: &SliceRounds<'_>) {
        let alone = self.alone_baseline.unwrap_or(slice.baseline);
        let shared = self.shared_baseline.unwrap_or(slice.baseline);
        let parts = [(Sharing::Alone, alone), (Sharing::Shared, shared), (Sharing::Neither, slice.baseline)];
        let scratch = &mut self.scratch;
        self.all.add(scratch, slice, &parts);
        if self.alone_baseline.is_some() {
            self.alone.add(scratch, slice, &parts[..1]);
        }
        if self.shared_baseline.is_some() {
            self.shared.add(scratch, slice, &parts[1..2]);
        }
        self.alone_pieces += slice.pieces_of(Sharing::Alone);
        self.shared_pieces += slice.pieces_of(Sharing::Shared);
        let whole = slice.trace.rounds().iter().filter(|round| slice.window.contains(&round.began));
        let held = undisturbed_mean(whole.map(Round::hold), slice.resolution);
        self.holds.extend(held.map(|hold| hold - slice.baseline.hold));
    }

    /// Takes note of a baseline, for this slice and those after it.
    pub fn note(&mut self, baseline: Baseline, sharing: Sharing) {
        match sharing {
            Sharing::Alone => self.alone_baseline = Some(baseline),
            Sharing::Shared => self.shared_baseline = Some(baseline),
            Sharing::Neither => {}
        }
    }

    /// What was told apart by too wide a core is told apart anew from here on.
    pub fn forget_neighbours(&mut self) {
        (self.alone, self.shared) = Default::default();
        (self.alone_pieces, self.shared_pieces) = (0, 0);
        (self.alone_baseline, self.shared_baseline) = (None, None);
    }

    /// Of the pieces that are one or the other, the share of those beside a neighbour.
    pub fn shared_share(&self) -> Option<f64> {
        let told_apart = self.alone_pieces + self.shared_pieces;
        (told_apart > 0).then(|| self.shared_pieces as f64 / told_apart as f64)
    }

    /// The figures that decide whether this is known well enough: of the core alone, once there is enough of that.
    pub fn deciding(&self) -> &Operations {
        if self.alone.lock.means.len() >= LEAST_ALONE { &self.alone } else { &self.all }
    }

    /// Adds what a slice with evidence knows of its rounds; their latencies count nowhere else.
    pub fn attribute(&mut self, evidence: &SliceEvidence<'_>, baseline: Baseline, hold: f64) {
        for operation in Operation::ALL {
            let cost = baseline.of(operation);
            let usual = if operation == Operation::RoundTrip { cost + hold } else { cost };
            let net = |ticks: u64| (ticks as f64 - cost).round().max(0.0) as u64;
            self.all.of_mut(operation).causes.add(operation, evidence, usual as u64, net);
        }
    }
}

/// Fewer slices have no interval at 95 %.
pub const LEAST_ALONE: usize = 6;
