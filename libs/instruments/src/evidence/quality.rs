//! The quality of kernel events: their possible omissions.

use super::account::Account;
use super::track::Track;
use crate::clock::Clock;
use crate::digits::percent;
use crate::warning::{Warning, WarningKind};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The quality of the events of a period, or of several added up. It accompanies every value computed from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceQuality {
    /// Source of the events.
    pub source: Source,
    /// Time between start and stop in nanoseconds.
    pub span_ns: f64,
    /// Number of events read.
    pub events: u64,
    /// Number of events for which the kernel had no room.
    pub lost_events: u64,
    /// Number of events that were not understood.
    pub skipped_events: u64,
    /// Time in nanoseconds without data because events were lost, summed over the CPUs.
    pub blind_ns: f64,
    /// Largest fit residual in nanoseconds of the line from the kernel's clock to the measurement's clock inside a
    /// period.
    pub clock_residual_ns: f64,
    /// Largest uncertainty in nanoseconds of that line due to its anchors.
    pub clock_uncertainty_ns: f64,
    /// Time of the recorder itself in nanoseconds to start, stop and read the events, outside the periods.
    pub recorder_ns: f64,
    /// Size of the event buffer of each CPU in KiB.
    pub ring_kib: u64,
    /// Account of the thread.
    pub account: Account,
}

/// Share of the time without data that is tolerated: shares are printed to a tenth of a per cent.
const BLIND_SHARE: f64 = 0.001;

impl EvidenceQuality {
    /// Returns the quality of these tracks, with a clock that needed no line to the kernel's.
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

    /// Adds a further period of the same recorder.
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

    /// Warns of lost events, unless they leave so little time without data that no share changes in the printed
    /// digits.
    pub fn warnings(&self) -> Vec<Warning> {
        let blind_share = if self.span_ns > 0.0 { self.blind_ns / self.span_ns } else { 0.0 };
        // If lost events leave no known time without data, their effect is unknown too.
        let matters = self.blind_ns > BLIND_SHARE * self.span_ns || (self.lost_events > 0 && self.blind_ns <= 0.0);
        matters.then(|| EvidenceLost { reports: self.lost_events, blind_share }.into()).into_iter().collect()
    }
}

/// The sources of kernel events, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Kernel trace of all events on the CPUs: perf rings.
    CpuRecord,
    /// Kernel trace of the thread's own switches: a perf ring that every user may open.
    ThreadRecord,
    /// Word that the kernel clears when it preempts the thread: rseq.
    PreemptionFlag,
    /// Account of the thread in `/proc`.
    Account,
    /// No source.
    None,
}

impl Source {
    /// Returns the events that it reports, for a sentence.
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

// Warnings about the kernel events.

/// The kernel trace of the CPUs is not available: a weaker source provides less information about the tasks that took
/// the CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeakerEvidence {
    /// Source that is used instead.
    pub source: Source,
    /// Reason why the best one is not available: the error text of the system.
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

/// Switches are recorded; interrupts are not, or not all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoInterruptEvidence {
    /// Error text of the system.
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

/// The kernel had no room for some of its events.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvidenceLost {
    /// Number of lost events.
    pub reports: u64,
    /// Share of the time without data because of them.
    pub blind_share: f64,
}

impl WarningKind for EvidenceLost {
    const CODE: &'static str = "evidence_lost";

    fn message(&self) -> String {
        let blind = percent(self.blind_share);
        match self.reports {
            0 => format!("there are no kernel events for {blind} of the time"),
            lost => format!("the kernel lost {lost} events: there is no data for {blind} of the time"),
        }
    }

    fn remedy(&self) -> &'static str {
        "read the explained share as a lower bound; run as root or raise kernel.perf_event_mlock_kb for larger \
         buffers"
    }
}
