//! What one cause took, in a record.

use instruments::evidence::{Cause, Kind};
use record::StackPart;
use serde::{Deserialize, Serialize};

/// What one cause took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseRow {
    pub kind: Kind,
    /// The task's, interrupt's or softirq's name.
    pub name: Option<String>,
    /// The task's process.
    pub pid: Option<u32>,
    /// How far apart its gaps are, if it is known by that alone.
    pub period_us: Option<f64>,
    /// Its gaps are shorter than this, which is shorter than any visit to the kernel.
    pub below_us: Option<f64>,
    /// Gaps that it had a part in.
    pub count: u64,
    pub total_us: f64,
    /// Its longest part of one gap; in a live line, since the run began.
    pub longest_us: f64,
    /// Of the time of all gaps.
    pub share: f64,
}

impl CauseRow {
    fn cause(&self) -> Cause {
        Cause { kind: self.kind, name: self.name.clone(), pid: self.pid }
    }

    /// Its part of a bar on the page.
    pub fn part(&self) -> StackPart {
        StackPart { words: self.label(), cause: harness::label(&self.cause()), share: self.share }
    }

    /// In words: `task competitor (4711)`, `interrupt local_timer`.
    pub fn label(&self) -> String {
        let cause = self.cause();
        let pid = self.pid.iter().map(|pid| format!(" ({pid})"));
        let below = self.below_us.iter().map(|us| format!(", under {}", terminal::nanoseconds(us * 1e3)));
        let period = self.period_us.iter().map(|us| format!(", every {}", terminal::nanoseconds(us * 1e3)));
        std::iter::once(harness::label(&cause)).chain(pid).chain(below).chain(period).collect()
    }
}
