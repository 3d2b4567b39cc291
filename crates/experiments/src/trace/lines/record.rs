//! The record: the program, and the rows of its cache lines.

use super::super::sharing::record::Row;
use blame::Lost;
use record::RecordRef;
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type LinesRecord<'a> = RecordRef<'a, Parameters, Row>;

/// The parameters that the program and the kernel decide.
pub const OUTCOMES: &[&str] =
    &["attached_pid", "exit_status", "exit_signal", "elapsed_s", "sampled_share", "refusal", "lost"];

/// The program, and what was seen of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The number of the process that contend attached to.
    pub attached_pid: Option<u32>,
    pub exit_status: Option<i32>,
    pub exit_signal: Option<i32>,
    pub elapsed_s: f64,
    /// CPU time of a thread between two samples.
    pub period_ns: u64,
    /// The part of the threads' CPU time that was sampled.
    pub sampled_share: Option<f64>,
    /// Why no CPU time was sampled, if the kernel refused it.
    pub refusal: Option<String>,
    /// All are 0 but samples that found no room.
    pub lost: Lost,
}
