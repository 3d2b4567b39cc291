//! The warnings of computed slowdowns.

use instruments::warning::WarningKind;
use serde::Serialize;

/// The warning that a value exceeds the support of its recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extrapolated {
    /// The value.
    pub what: String,
    /// The limit of the recording's support.
    pub supported: String,
}

impl WarningKind for Extrapolated {
    const CODE: &'static str = "extrapolated";

    fn message(&self) -> String {
        let Self { what, supported } = self;
        format!("{what} is extrapolated: the recording supports only {supported}")
    }

    fn remedy(&self) -> &'static str {
        "record a longer trace with `contend noise --seconds … --trace FILE`"
    }
}

/// The warning that the work of a step is shorter than an interruption that it meets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepShorterThanGap {
    /// The step's work, in µs.
    pub step_us: f64,
    /// The longest interruption, in µs.
    pub longest_gap_us: f64,
}

impl WarningKind for StepShorterThanGap {
    const CODE: &'static str = "step_shorter_than_gap";

    fn message(&self) -> String {
        let Self { step_us, longest_gap_us } = self;
        format!("the longest gap ({longest_gap_us:.1} µs) is longer than a step ({step_us:.1} µs)")
    }

    fn remedy(&self) -> &'static str {
        "one gap delays several steps: read the mean together with the median, and prefer the simulated barrier, \
         whose steps follow each other, to the exact value, whose steps begin at random moments"
    }
}
