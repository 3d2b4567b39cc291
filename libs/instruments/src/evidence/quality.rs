//! How good the evidence is: what it may lack.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::account::Account;
use super::source::Source;
use super::track::Track;
use super::warnings::EvidenceLost;
use crate::clock::Clock;
use crate::warning::Warning;

/// The state of the evidence over a stretch, or over several added up. It goes with every figure made from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceQuality {
    /// Where it comes from.
    pub source: Source,
    /// Time between start and stop.
    pub span_ns: f64,
    /// Reports read.
    pub events: u64,
    /// Reports that the kernel had no room for.
    pub lost_events: u64,
    /// Reports that were not understood.
    pub skipped_events: u64,
    /// Time in which reports were lost, summed over the CPUs.
    pub blind_ns: f64,
    /// By how much the kernel's clock missed the line to ours inside a stretch, at most.
    pub clock_residual_ns: f64,
    /// What the anchors of that line leave open, at most.
    pub clock_uncertainty_ns: f64,
    /// The recorder's own time to start and stop, and to read the reports, outside the stretches.
    pub recorder_ns: f64,
    /// Room for reports on each CPU.
    pub ring_kib: u64,
    /// The thread's account.
    pub account: Account,
}

/// Of less of the time nothing needs to be known: shares are given to a tenth of a per cent.
const BLIND_SHARE: f64 = 0.001;

impl EvidenceQuality {
    /// What these tracks say of it, with a clock that needed no line to the kernel's.
    pub(super) fn of_tracks(clock: Clock, source: Source, span: Range<u64>, events: u64, tracks: &[Track]) -> Self {
        Self {
            source,
            span_ns: clock.to_ns(span.end.saturating_sub(span.start)),
            events,
            lost_events: tracks.iter().map(|track| track.lost).sum(),
            skipped_events: 0,
            blind_ns: clock.to_ns(tracks.iter().map(|track| track.blind).sum()),
            clock_residual_ns: 0.0,
            clock_uncertainty_ns: 0.0,
            recorder_ns: 0.0,
            ring_kib: 0,
            account: Account::default(),
        }
    }

    /// Adds a further stretch of the same recorder.
    pub fn absorb(&mut self, other: &Self) {
        self.span_ns += other.span_ns;
        self.events += other.events;
        self.lost_events += other.lost_events;
        self.skipped_events += other.skipped_events;
        self.blind_ns += other.blind_ns;
        self.clock_residual_ns = self.clock_residual_ns.max(other.clock_residual_ns);
        self.clock_uncertainty_ns = self.clock_uncertainty_ns.max(other.clock_uncertainty_ns);
        self.recorder_ns += other.recorder_ns;
        self.account.absorb(&other.account);
    }

    /// Warns of lost reports, unless they leave so little time unknown that no share changes in the digits printed.
    pub fn warnings(&self) -> Vec<Warning> {
        let blind_share = if self.span_ns > 0.0 { self.blind_ns / self.span_ns } else { 0.0 };
        // Where lost reports leave no known time, how much they matter is not known either.
        let matters = self.blind_ns > BLIND_SHARE * self.span_ns || (self.lost_events > 0 && self.blind_ns <= 0.0);
        matters.then(|| EvidenceLost { reports: self.lost_events, blind_share }.into()).into_iter().collect()
    }
}
