//! What the probes around and within a stretch of time said.

use super::probe::Reading;

/// The probes of a stretch of time on one CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probed {
    /// The CPU.
    pub cpu: u16,
    /// The least and the most cycles that a round of the loop of width took.
    pub least: f32,
    /// See [`least`](Self::least).
    pub most: f32,
    /// Cycles in a nanosecond: of two probes the mean, of more the later ones count more.
    pub cycles_per_ns: f32,
}

/// Whether the core was shared with another hardware thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All probes found the core as wide as it gets.
    Alone,
    /// All probes found it narrower.
    Shared,
    /// They do not agree, or not clearly.
    Neither,
}

impl Probed {
    /// By a single probe.
    pub fn at(reading: Reading) -> Self {
        let Reading { cpu, cycles, cycles_per_ns } = reading;
        Self { cpu, least: cycles, most: cycles, cycles_per_ns }
    }

    /// By a probe before and one after.
    pub fn between(before: Reading, after: Reading) -> Self {
        Self::at(before).and(after)
    }

    /// With one more.
    pub fn and(self, reading: Reading) -> Self {
        self.with(Self::at(reading))
    }

    /// With those of another stretch.
    pub fn with(self, later: Self) -> Self {
        Self {
            least: self.least.min(later.least),
            // Whoever moved is at home nowhere: no probe says anything of the whole stretch.
            most: if later.cpu == self.cpu { self.most.max(later.most) } else { f32::INFINITY },
            cycles_per_ns: (self.cycles_per_ns + later.cycles_per_ns) / 2.0,
            cpu: later.cpu,
        }
    }
}
