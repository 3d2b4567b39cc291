//! The CPUs of this machine: those that can be measured from here, and the interface's.

use experiments::ALL;
use instruments::cpus::{self, CpuSet};
use std::io;

/// The CPUs of this machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The CPUs that are online.
    pub online: CpuSet,
    /// Those in the affinity mask of this process.
    pub allowed: CpuSet,
    /// The CPU of the interface; it is measured only if there is no other.
    pub own: usize,
}

impl Machine {
    /// Reads the affinity mask, and pins this process to its first CPU.
    pub fn detect() -> io::Result<Self> {
        let allowed = cpus::allowed()?;
        let own = allowed.first().ok_or_else(|| io::Error::other("the affinity mask of this process is empty"))?;
        cpus::pin_current_thread(own)?;
        Ok(Self { online: cpus::online().unwrap_or_else(|_| allowed.clone()), allowed, own })
    }

    /// Returns the reason why a CPU cannot be measured from here.
    pub fn refusal(&self, cpu: usize) -> Option<String> {
        if !self.allowed.contains(cpu) {
            return Some("the cpuset or affinity mask (`taskset`) of this process excludes this CPU".into());
        }
        (cpu == self.own && self.allowed.len() > 1).then(|| {
            "the interface runs on this CPU and would distort the results; use the command line to measure it".into()
        })
    }

    /// Returns the CPUs that can be measured from here.
    pub fn free(&self) -> CpuSet {
        self.allowed.iter().filter(|cpu| self.refusal(*cpu).is_none()).collect()
    }

    /// Returns whether this command measures, and so reports while it runs.
    pub fn measures(words: &[String]) -> bool {
        let Some(first) = words.first() else { return true };
        first == "survey" || ALL.iter().any(|entry| entry.words().0 == first)
    }
}
