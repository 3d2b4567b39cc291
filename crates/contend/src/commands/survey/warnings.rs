//! The warnings of a survey.

use instruments::warning::WarningKind;
use serde::Serialize;

/// The warning that one of several experiments failed; the others were measured anyway.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExperimentFailed {
    /// The name of the experiment.
    pub experiment: String,
    /// The error message of the experiment.
    pub reason: String,
}

impl WarningKind for ExperimentFailed {
    const CODE: &'static str = "experiment_failed";

    fn message(&self) -> String {
        let Self { experiment, reason } = self;
        format!("the experiment {experiment} failed: {reason}")
    }

    fn remedy(&self) -> &'static str {
        "run it alone, as in `contend noise`, to see whether it fails again; the results of the other experiments are \
         valid"
    }
}
