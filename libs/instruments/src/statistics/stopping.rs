//! The rule that ends a measurement.
//!
//! A fixed number of repetitions is too few for a noisy machine and too many for a quiet one. Following Hoefler and
//! Belli (SC15), a measurement continues until its confidence interval is narrow enough, or until its budget is
//! spent, and records the reason. The rule considers only the width of the interval, never whether a difference is
//! significant: stopping at significance would find differences that do not exist.
use serde::{Deserialize, Serialize};

use super::interval::Interval;

/// The required width of an interval, and the limits of the number of repetitions.
///
/// # Examples
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
    /// Width of the interval, as a share of the estimate, at which to stop.
    pub target_relative_width: f64,
    /// Number of repetitions before which no narrow interval counts: few repetitions may agree by chance.
    pub at_least: u64,
    /// Largest number of repetitions.
    pub at_most: u64,
}

/// The progress of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Number of repetitions done.
    pub repeats: u64,
    /// Current estimate.
    pub estimate: f64,
    /// Its confidence interval; `None` while there are too few repetitions.
    pub interval: Option<Interval>,
    /// Whether the time budget is spent.
    pub budget_spent: bool,
}

/// The next step of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Repeat once more.
    Continue,
    /// Stop: the interval is narrow enough.
    Converged,
    /// Stop: time or repetitions are used up and the interval is still too wide.
    Exhausted,
}

/// The reason why a measurement ended, for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The interval reached its target width.
    Converged,
    /// The budget of time or repetitions was spent first.
    Budget,
    /// The user stopped it.
    Interrupted,
}

impl StoppingRule {
    /// Judges the progress. An interval that is narrow enough counts as converged even if the budget is spent too.
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
    /// Returns the recorded reason for this end; `None` if the measurement continues.
    pub fn ended_by(self) -> Option<EndedBy> {
        match self {
            Verdict::Continue => None,
            Verdict::Converged => Some(EndedBy::Converged),
            Verdict::Exhausted => Some(EndedBy::Budget),
        }
    }
}
