//! How much a warning matters to who reads the figures.

use serde::{Deserialize, Serialize};

/// The most serious first, which is the order in which people are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A figure is not what it would be without it.
    ChangesFigure,
    /// The figures are right, and say less than was asked.
    #[default]
    LimitsConclusion,
    /// Something that could be better, and changes no figure here.
    Advice,
}
