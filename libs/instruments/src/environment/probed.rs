//! What was tried of which CPUs share a core.

use crate::cpus::CpuSet;
use serde::{Deserialize, Serialize};

/// Pairs of CPUs that were tried against each other. A guest is often told that each of its CPUs is a core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbedPairs {
    /// When, in seconds since 1970: since the machine was last started.
    pub probed_unix_s: u64,
    /// Each pair once.
    pub pairs: Vec<ProbedPair>,
}

/// Two CPUs, and whether they are hardware threads of one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbedPair {
    /// The lower number first.
    pub cpus: [usize; 2],
    /// Whether one is narrower while the other works.
    pub share_a_core: bool,
}

impl ProbedPairs {
    /// These, and of earlier ones those that were not tried again.
    #[must_use]
    pub fn beside(mut self, earlier: Option<&Self>) -> Self {
        let only_earlier: Vec<ProbedPair> = earlier
            .into_iter()
            .flat_map(|earlier| &earlier.pairs)
            .filter(|pair| self.share_a_core(pair.cpus[0], pair.cpus[1]).is_none())
            .copied()
            .collect();
        self.pairs.extend(only_earlier);
        self
    }

    /// "CPUs 0 and 1 share no core (probed)".
    pub fn words(&self) -> String {
        let named = |pair: &ProbedPair| format!("{} and {}", pair.cpus[0], pair.cpus[1]);
        let shared: Vec<String> = self.pairs.iter().filter(|pair| pair.share_a_core).map(named).collect();
        match (&shared[..], &self.pairs[..]) {
            ([], []) => "no CPUs were probed for a shared core".to_owned(),
            ([], [pair]) => format!("CPUs {} do not share a core (probed)", named(pair)),
            ([], pairs) => {
                let cpus: CpuSet = pairs.iter().flat_map(|pair| pair.cpus).collect();
                let (count, all) = (pairs.len(), cpus.len() * (cpus.len() - 1) / 2);
                if count == all {
                    format!("no two of CPUs {cpus} share a core ({count} pairs probed)")
                } else {
                    format!("none of the {count} probed pairs of CPUs shares a core")
                }
            }
            (shared, _) => format!("CPUs {} share a core (probed)", shared.join(", ")),
        }
    }

    /// Whether two share a core; `None` where that was not tried.
    pub(super) fn share_a_core(&self, one: usize, other: usize) -> Option<bool> {
        let cpus = [one.min(other), one.max(other)];
        self.pairs.iter().find(|pair| pair.cpus == cpus).map(|pair| pair.share_a_core)
    }
}
