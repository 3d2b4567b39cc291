//! The envelope of every experiment's output: one object with its environment, parameters, results and warnings.

use crate::ranking::Rank;
use instruments::environment::Environment;
use instruments::warning::Warning;
use serde::{Deserialize, Serialize};

/// The version of the record's layout.
///
/// It changes when a field changes its meaning or is removed.
pub const SCHEMA: &str = "contend/1";

/// A record of parameters `P` and result rows `R`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record<P, R> {
    /// The layout, [`SCHEMA`].
    pub schema: String,
    /// The experiment's name on the command line.
    pub experiment: String,
    /// The machine, and the call of the command.
    pub environment: RunEnvironment,
    /// The parameters, defaults filled in.
    pub parameters: P,
    /// The results, one row for each thing measured.
    pub results: Vec<R>,
    /// The ranks, where results can be ordered: they compare the results that were measured side by side, by each value
    /// that decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranking: Vec<Rank>,
    /// The warnings that a reader must know before believing the results.
    pub warnings: Vec<Warning>,
}

/// The input of a view of a record: its rows, which were read once for all views, and the rest of the record.
pub struct RecordRef<'a, P, R> {
    pub environment: &'a RunEnvironment,
    pub parameters: &'a P,
    pub results: &'a [R],
}

/// The state of the machine, and the call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunEnvironment {
    /// `contend`'s version.
    pub contend: String,
    /// The command line, without the program's own name.
    pub command_line: Vec<String>,
    /// The seed of every random choice.
    pub seed: u64,
    /// The time at which the measurement began, in seconds since 1970.
    pub started_unix_s: u64,
    /// Whether a signal ended the run.
    pub interrupted: bool,
    /// The machine.
    #[serde(flatten)]
    pub machine: Environment,
}
