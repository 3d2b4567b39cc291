//! Where evidence comes from.

use serde::{Deserialize, Serialize};

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
    /// What it tells, for a sentence.
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
