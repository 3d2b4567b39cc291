//! The results: a row for each CPU.

use super::plan::Parameters;
use instruments::statistics::Interval;
use record::RecordRef;
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type TemplateRecord<'a> = RecordRef<'a, Parameters, Row>;

/// The time of a call on a CPU.
///
/// A field's name ends in its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub cpu: usize,
    pub batches: usize,
    /// The median of the batches, and its 95 % interval where there are enough batches.
    pub call_ns: f64,
    pub call_ci_ns: Option<Interval>,
}
