//! The sums of one thread's iterations, by window.
//!
//! Latencies are kept in ticks, less a baseline: the time of the same loop without a lock, in the same window. The
//! core's frequency drifts by about a per cent over seconds; over one window it is steady.
//!
//! With the core shared a baseline takes half as long again, and interference that begins between the baseline and the
//! iterations would be taken for a faster lock. So iterations with the core exclusive are compared with a baseline with
//! it exclusive, and iterations with it shared with a shared one. The baseline is that of this window, or else of the
//! last one that has it.

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
    /// The values of all iterations.
    pub all: Operations,
    /// The values with the core exclusive, and those with it shared.
    pub alone: Operations,
    pub shared: Operations,
    /// The numbers of pieces of windows of both kinds.
    pub alone_pieces: u64,
    pub shared_pieces: u64,
    /// The hold time in each window, in ticks.
    pub holds: Thinned<f64>,
    alone_baseline: Option<Baseline>,
    shared_baseline: Option<Baseline>,
    scratch: Vec<u32>,
}

/// A thread's part in a window, as it is added up.
pub struct SliceRounds<'a> {
    pub trace: &'a Trace,
    /// The range in which iterations that begin count.
    pub window: Range<u64>,
    pub baseline: Baseline,
    /// The iterations, by their indices in the trace, and the sharing of the core.
    pub pieces: Vec<(Range<usize>, Sharing)>,
    /// The probes of the other threads of the window.
    pub probes: OthersProbes,
    /// The clock's step, in ticks.
    pub resolution: u64,
}

impl SliceRounds<'_> {
    /// Returns the pieces without the iterations of this operation that another thread's probe spoiled, and the number
    /// of those.
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
    /// Adds a window.
    ///
    /// The hold time belongs to a round trip, however long it was.
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
    /// Adds the iterations of a window.
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

    /// Notes a baseline, for this window and those after it.
    pub fn note(&mut self, baseline: Baseline, sharing: Sharing) {
        match sharing {
            Sharing::Alone => self.alone_baseline = Some(baseline),
            Sharing::Shared => self.shared_baseline = Some(baseline),
            Sharing::Neither => {}
        }
    }

    /// Discards the classification by too narrow a core, from here on.
    pub fn forget_neighbours(&mut self) {
        (self.alone, self.shared) = Default::default();
        (self.alone_pieces, self.shared_pieces) = (0, 0);
        (self.alone_baseline, self.shared_baseline) = (None, None);
    }

    /// Returns the share of the shared pieces among the decided ones.
    pub fn shared_share(&self) -> Option<f64> {
        let told_apart = self.alone_pieces + self.shared_pieces;
        (told_apart > 0).then(|| self.shared_pieces as f64 / told_apart as f64)
    }

    /// Returns the values that decide whether this is known precisely enough: those with the core exclusive, once there
    /// are enough.
    pub fn deciding(&self) -> &Operations {
        if self.alone.lock.means.len() >= LEAST_ALONE { &self.alone } else { &self.all }
    }

    /// Adds the evidence of a window about its iterations; their latencies count nowhere else.
    pub fn attribute(&mut self, evidence: &SliceEvidence<'_>, baseline: Baseline, hold: f64) {
        for operation in Operation::ALL {
            let cost = baseline.of(operation);
            let usual = if operation == Operation::RoundTrip { cost + hold } else { cost };
            let net = |ticks: u64| (ticks as f64 - cost).round().max(0.0) as u64;
            self.all.of_mut(operation).causes.add(operation, evidence, usual as u64, net);
        }
    }
}

/// The minimum number of windows for an interval at 95 %.
pub const LEAST_ALONE: usize = 6;
