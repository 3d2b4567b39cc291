//! What a slice with evidence adds to its cell.

use super::causes::SliceEvidence;
use super::cell::Cell;
use super::other_threads::{OtherThreads, Rounds};
use super::probes::OthersProbes;
use super::slice::Slice;
use super::thread_slice::{SliceSetup, ThreadSlice, window};
use instruments::clock::Clock;
use instruments::evidence::{EvidenceQuality, Names, Source, Timeline};
use std::ops::Range;

impl Cell {
    /// Adds a slice with evidence; `timeline` is that of all CPUs, where there is one.
    pub fn add_evidence(
        &mut self,
        setup: &SliceSetup,
        slice: Slice,
        parts: &[ThreadSlice],
        timeline: Option<&Timeline>,
    ) {
        let Some(window) = window(setup, slice, parts) else { return };
        let nothing = empty_timeline(setup.clock, &window);
        let rounds = Rounds::of(parts.iter().map(|part| &part.trace));
        timeline.into_iter().for_each(|timeline| self.enter(&timeline.quality));
        for (place, part) in parts.iter().enumerate() {
            // Who takes no lock waits for nobody.
            let others = if self.plan.lock == locks::NONE { OtherThreads::default() } else { rounds.others(place) };
            part.timeline.iter().for_each(|own| self.enter(&own.quality));
            let Some(baseline) = part.baseline else { continue };
            let evidence = SliceEvidence {
                timeline: timeline.or(part.timeline.as_ref()).unwrap_or(&nothing),
                task: part.task,
                trace: &part.trace,
                window: window.clone(),
                resolution: setup.resolution,
                others: &others,
                probes: &OthersProbes::of(parts.iter().map(|part| &part.trace), place),
            };
            self.series[place].attribute(&evidence, baseline, setup.hold_ticks);
        }
    }

    fn enter(&mut self, ledger: &EvidenceQuality) {
        match &mut self.ledger {
            Some(sum) => sum.absorb(ledger),
            none => *none = Some(ledger.clone()),
        }
    }
}

/// Of a thread that may record nothing: its own timestamps are all there is.
fn empty_timeline(clock: Clock, window: &Range<u64>) -> Timeline {
    Timeline::of_events(clock, Source::None, window.clone(), 0, Names::default(), &[])
}
