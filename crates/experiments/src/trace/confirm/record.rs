//! The parameters of a record that tried to reach cycles. Its rows are those of a trace: one for each cycle.

use serde::{Deserialize, Serialize};

/// The runs, and how many cycles have which verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Confirmation {
    /// Runs that try to reach a cycle, at most.
    pub runs_most: u32,
    /// Cycles that are possible by the first run, of which `reached` were reached.
    pub possible: u32,
    pub reached: u32,
    pub excluded: u32,
    /// The commands before and after each run.
    pub prepare: Option<String>,
    pub cleanup: Option<String>,
}
