//! What every experiment leaves: one object with its environment, parameters, results and warnings.

use crate::ranking::Rank;
use instruments::environment::Environment;
use instruments::warning::Warning;
use serde::{Deserialize, Serialize};

/// The version of the record's layout. It changes when a field changes its meaning or goes away.
pub const SCHEMA: &str = "contend/1";

/// A record of parameters `P` and result rows `R`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record<P, R> {
    /// [`SCHEMA`].
    pub schema: String,
    /// The experiment's name on the command line.
    pub experiment: String,
    /// The machine, and how the command was called.
    pub environment: RunEnvironment,
    /// What was asked for, defaults filled in.
    pub parameters: P,
    /// What came out, one row for each thing measured.
    pub results: Vec<R>,
    /// Who is best, where results can be put in order: what was measured beside each other, by each figure that
    /// decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranking: Vec<Rank>,
    /// What a reader must know before believing the results.
    pub warnings: Vec<Warning>,
}

/// What a view of a record reads: its rows, which were read once for all views, and what stands beside them.
pub struct RecordRef<'a, P, R> {
    pub environment: &'a RunEnvironment,
    pub parameters: &'a P,
    pub results: &'a [R],
}

/// The machine as it was found, and the call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunEnvironment {
    /// `contend`'s version.
    pub contend: String,
    /// The command line, without the program's own name.
    pub command_line: Vec<String>,
    /// The seed of every random choice.
    pub seed: u64,
    /// When the measurement began, in seconds since 1970.
    pub started_unix_s: u64,
    /// Whether it was ended by a signal.
    pub interrupted: bool,
    /// The machine.
    #[serde(flatten)]
    pub machine: Environment,
}
