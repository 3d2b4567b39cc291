//! How good the evidence is: what it may lack.

use super::account::Account;
use super::track::Track;
use crate::clock::Clock;
use crate::warning::{Warning, WarningKind, percent};
use serde::{Deserialize, Serialize};
use std::ops::Range;

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

/// Where evidence comes from, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The kernel's record of all that happens on the CPUs: perf rings.
    CpuRecord,
    /// The kernel's record of the thread's own switches: a perf ring, open to everyone.
    ThreadRecord,
    /// The word that the kernel clears when it preempts the thread: rseq.
    PreemptionFlag,
    /// The thread's own account in `/proc`.
    Account,
    /// Nothing.
    None,
}

impl Source {
    /// The events that it reports, for a sentence.
    pub fn tells(self) -> &'static str {
        match self {
            Self::CpuRecord => "every switch and every interrupt is attributed by name",
            Self::ThreadRecord => "switches are seen, but not the next task; interrupts are not seen",
            Self::PreemptionFlag => "gaps that were switches are seen, but not the next task; interrupts are not seen",
            Self::Account => "only the total time of switches is known, not when they happened",
            Self::None => "no gap has a known cause",
        }
    }
}

// Warnings about the evidence.

/// The kernel's record of the CPUs is not to be had: a weaker source tells less of who took the CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeakerEvidence {
    /// The source that is used instead.
    pub source: Source,
    /// Why not the best: the system's words.
    pub reason: String,
}

impl WarningKind for WeakerEvidence {
    const CODE: &'static str = "weaker_evidence";

    fn message(&self) -> String {
        format!("the kernel trace of the CPUs cannot be read ({}): {}", self.reason, self.source.tells())
    }

    fn remedy(&self) -> &'static str {
        "run it as root, or `sudo setcap cap_perfmon+ep $(command -v contend)`; in a container start it with \
         --cap-add PERFMON and a seccomp profile that allows perf_event_open; if memory was refused, raise \
         `ulimit -l`"
    }
}

/// Switches are recorded, interrupts are not, or not all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoInterruptEvidence {
    /// The system's words.
    pub reason: String,
}

impl WarningKind for NoInterruptEvidence {
    const CODE: &'static str = "no_interrupt_evidence";

    fn message(&self) -> String {
        format!("some or all interrupts are not recorded: {}", self.reason)
    }

    fn remedy(&self) -> &'static str {
        "run it as root, or let your group read tracefs: `sudo mount -t tracefs -o gid=$(id -g),mode=750 tracefs \
         /sys/kernel/tracing` (with -o remount,… where it is mounted)"
    }
}

/// The kernel had no room for some of its reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvidenceLost {
    /// How many.
    pub reports: u64,
    /// The share of the time of which nothing is known for it.
    pub blind_share: f64,
}

impl WarningKind for EvidenceLost {
    const CODE: &'static str = "evidence_lost";

    fn message(&self) -> String {
        let blind = percent(self.blind_share);
        format!("the kernel lost {} events: there is no data for {blind} of the time", self.reports)
    }

    fn remedy(&self) -> &'static str {
        "read the explained share as a lower bound; run as root or raise kernel.perf_event_mlock_kb for larger \
         buffers"
    }
}
