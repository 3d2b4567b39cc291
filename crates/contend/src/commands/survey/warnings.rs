//! What a reader of a survey must know.

use instruments::warning::WarningKind;
use serde::Serialize;

/// One of several experiments failed; the others were measured all the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExperimentFailed {
    /// Its name.
    pub experiment: String,
    /// What it said.
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
