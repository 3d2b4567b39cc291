//! What a reader must be told of the evidence.

use serde::Serialize;

use super::source::Source;
use crate::warning::{WarningKind, percent};

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
