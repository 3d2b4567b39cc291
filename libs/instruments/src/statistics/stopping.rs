//! When enough was measured.
//!
//! A fixed number of repeats is too few for a noisy machine and too many for a quiet one. Following Hoefler and Belli
//! (SC15), a measurement goes on until its interval is narrow enough, or until its budget is spent, and says which.
//! The rule looks at the width of the interval only, never at whether a difference is significant: stopping at
//! significance would find differences that are not there.
use serde::{Deserialize, Serialize};

use super::interval::Interval;

/// How narrow an interval has to become, and within how many repeats.
///
/// ```
/// use instruments::statistics::stopping::{Progress, StoppingRule, Verdict};
/// use instruments::statistics::Interval;
///
/// let rule = StoppingRule { target_relative_width: 0.05, at_least: 5, at_most: 50 };
/// let mut progress = Progress {
///     repeats: 6,
///     estimate: 100.0,
///     interval: Some(Interval::new(90.0, 110.0)),
///     budget_spent: false,
/// };
/// assert_eq!(rule.verdict(&progress), Verdict::Continue);
/// progress.interval = Some(Interval::new(99.0, 101.0));
/// assert_eq!(rule.verdict(&progress), Verdict::Converged);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StoppingRule {
    /// The interval's width, as a share of the estimate, at which to stop.
    pub target_relative_width: f64,
    /// No narrow interval counts before this many repeats: few repeats may agree by luck.
    pub at_least: u64,
    /// Repeats never exceed this.
    pub at_most: u64,
}

/// Where a measurement stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Repeats done.
    pub repeats: u64,
    /// The current estimate.
    pub estimate: f64,
    /// Its interval; `None` while there are too few repeats for one.
    pub interval: Option<Interval>,
    /// Whether the time budget is spent.
    pub budget_spent: bool,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Repeat once more.
    Continue,
    /// Stop: the interval is narrow enough.
    Converged,
    /// Stop: time or repeats are used up and the interval is still too wide.
    Exhausted,
}

/// Why a measurement ended, for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The interval reached its target width.
    Converged,
    /// The budget of time or repeats was spent first.
    Budget,
    /// Somebody stopped it.
    Interrupted,
}

impl StoppingRule {
    /// Judges the progress. An interval that is narrow enough counts as converged even when the budget is spent too.
    pub fn verdict(&self, progress: &Progress) -> Verdict {
        let narrow = progress
            .interval
            .is_some_and(|interval| interval.relative_width(progress.estimate) <= self.target_relative_width);
        if narrow && progress.repeats >= self.at_least {
            Verdict::Converged
        } else if progress.budget_spent || progress.repeats >= self.at_most {
            Verdict::Exhausted
        } else {
            Verdict::Continue
        }
    }
}

impl Verdict {
    /// What the record says about this end; `None` while it is none.
    pub fn ended_by(self) -> Option<EndedBy> {
        match self {
            Verdict::Continue => None,
            Verdict::Converged => Some(EndedBy::Converged),
            Verdict::Exhausted => Some(EndedBy::Budget),
        }
    }
}
