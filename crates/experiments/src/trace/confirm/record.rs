//! The parameters of a record. Its rows are those of a trace: one for each cycle.

use crate::trace::record::Row;
use blame::Lost;
use record::RecordRef;
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type ConfirmRecord<'a> = RecordRef<'a, ConfirmParameters, Row>;

/// The program, and how many of its cycles have which verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfirmParameters {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The SHA-256 of the program's file; `null` where it cannot be read.
    pub program_sha256: Option<String>,
    /// Runs that try to reach a cycle, at most.
    pub runs_most: u32,
    /// Cycles that are possible by the first run, of which `reached` were reached.
    pub possible: u32,
    pub reached: u32,
    pub excluded: u32,
    /// The commands before and after each run.
    pub prepare: Option<String>,
    pub cleanup: Option<String>,
    /// What found no room, by what it was; all are 0 where nothing was lost.
    pub lost: Lost,
    /// Whether the terminal prints excluded cycles, too.
    pub all: bool,
}
