//! What this machine allows: which CPUs there are, which of them this process may use, and which one the screen keeps.

use experiments::ALL;
use instruments::cpus::{self, CpuSet};
use std::io;

/// What was found out at the start.
#[derive(Clone, Debug)]
pub struct Machine {
    /// CPUs that are switched on.
    pub online: CpuSet,
    /// Of these, those that this process was given.
    pub allowed: CpuSet,
    /// The one that the screen draws on; nothing is measured there, unless there is no other.
    pub own: usize,
}

impl Machine {
    /// Looks, and draws back to one CPU.
    ///
    /// # Errors
    /// The system does not say which CPUs this process may use, or refuses one of them.
    pub fn look() -> io::Result<Self> {
        let allowed = cpus::allowed()?;
        let own = allowed.first().ok_or_else(|| io::Error::other("the affinity mask of this process is empty"))?;
        cpus::pin_current_thread(own)?;
        Ok(Self { online: cpus::online().unwrap_or_else(|_| allowed.clone()), allowed, own })
    }

    /// Why nothing can be measured on a CPU from here.
    pub fn refusal(&self, cpu: usize) -> Option<String> {
        if !self.allowed.contains(cpu) {
            return Some("the cpuset or affinity mask (`taskset`) of this process excludes this CPU".into());
        }
        (cpu == self.own && self.allowed.len() > 1).then(|| {
            "the interface runs on this CPU and would distort the results; use the command line to measure it".into()
        })
    }

    /// The CPUs that can be measured from here.
    pub fn free(&self) -> CpuSet {
        self.allowed.iter().filter(|cpu| self.refusal(*cpu).is_none()).collect()
    }

    /// Whether these words measure, and so tell what they are at.
    pub fn measures(&self, words: &[String]) -> bool {
        let Some(first) = words.first() else { return true };
        first == "survey" || ALL.iter().any(|entry| entry.words().0 == first)
    }
}
