//! Warnings about the course of a measurement.

use serde::Serialize;

use super::value::WarningKind;
use crate::digits::percent;

/// The time was over before the confidence interval was as narrow as requested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotConverged {
    /// Measured quantity.
    pub what: String,
    /// Width of its interval, as a share of the value; infinite if there are too few repetitions for an interval, which
    /// a record contains as `null`.
    pub relative_width: f64,
    /// Requested width.
    pub target: f64,
}

impl WarningKind for NotConverged {
    const CODE: &'static str = "not_converged";

    fn message(&self) -> String {
        let target = percent(self.target);
        let width = match self.relative_width {
            f64::INFINITY => {
                return format!(
                    "{}: too few repetitions for a 95 % confidence interval; target width: {target}",
                    self.what
                );
            }
            many if many >= 10.0 => format!("{many:.0} times as wide as the value"),
            few => format!("{} wide", percent(few)),
        };
        format!("the 95 % confidence interval of {} is still {width}; target: {target}", self.what)
    }

    fn remedy(&self) -> &'static str {
        "measure longer with --seconds, or on a quieter machine"
    }
}

/// The measurement was stopped before its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interrupted {
    /// Duration of the measurement, in s.
    pub measured_s: f64,
    /// Planned duration, in s; `None` if it was not planned by time.
    pub planned_s: Option<f64>,
}

impl WarningKind for Interrupted {
    const CODE: &'static str = "interrupted";

    fn message(&self) -> String {
        let Self { measured_s, planned_s } = self;
        let of = planned_s.map_or("the requested run".to_owned(), |planned_s| format!("{planned_s:.1} s"));
        format!("interrupted after {measured_s:.1} s of {of}")
    }

    fn remedy(&self) -> &'static str {
        "run it again without interrupting it, or set a shorter time with --seconds"
    }
}

/// There are too few samples for the reported statistics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FewSamples {
    /// Sampled quantity.
    pub what: String,
    /// Number of samples.
    pub count: u64,
}

impl WarningKind for FewSamples {
    const CODE: &'static str = "few_samples";

    fn message(&self) -> String {
        let Self { what, count } = self;
        format!("only {count} samples of {what}")
    }

    fn remedy(&self) -> &'static str {
        "measure longer with --seconds"
    }
}

/// A recorder's buffer was full before the measurement ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BufferFull {
    /// The recorder.
    pub what: String,
}

impl WarningKind for BufferFull {
    const CODE: &'static str = "buffer_full";

    fn message(&self) -> String {
        format!("the buffer of {} is full: later samples are not in its results", self.what)
    }

    fn remedy(&self) -> &'static str {
        "set a shorter time with --seconds"
    }
}

/// A requested measurement was not made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Requested measurement.
    pub what: String,
    /// Reason why it was not made.
    pub reason: String,
}

impl WarningKind for LeftOut {
    const CODE: &'static str = "left_out";

    fn message(&self) -> String {
        let Self { what, reason } = self;
        format!("{what} was not measured: {reason}")
    }

    fn remedy(&self) -> &'static str {
        "treat its results as missing, neither good nor bad"
    }
}
