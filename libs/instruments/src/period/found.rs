//! What is searched, and what is found.

use serde::{Deserialize, Serialize};

/// A stretch of time in which the thread did not run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// When it began, since the start of the observation.
    pub start_ns: f64,
    /// How long it lasted.
    pub duration_ns: f64,
}

/// A comb of gaps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Period {
    /// The distance between teeth.
    pub period_ns: f64,
    /// The time of the first tooth, since the start of the observation.
    pub phase_ns: f64,
    /// How many gaps are explained by this comb and by no stronger one, those that outlast its period left out.
    pub gaps: usize,
    /// The median duration of these gaps.
    pub median_gap_ns: f64,
    /// The longest of these gaps.
    pub longest_gap_ns: f64,
    /// How long these gaps last together.
    pub total_ns: f64,
    /// These gaps as a part of all gaps, 0 to 1.
    pub share_of_gaps: f64,
    /// The part of all teeth within the observation at which any gap was seen, 0 to 1.
    pub presence: f64,
}
