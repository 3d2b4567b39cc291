//! The warnings of a job's record.

use instruments::warning::WarningKind;
use serde::Serialize;

/// The warning that ranks shared CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Oversubscribed {
    /// The number of ranks of the job.
    pub ranks: u64,
    /// The number of CPUs that they were pinned to.
    pub cpus: u64,
}

impl WarningKind for Oversubscribed {
    const CODE: &'static str = "oversubscribed";

    fn message(&self) -> String {
        let Self { ranks, cpus } = self;
        format!(
            "there are more ranks than CPUs ({ranks} on {cpus}): each step also waits for ranks that wait for a CPU"
        )
    }

    fn remedy(&self) -> &'static str {
        "start at most one rank per CPU: ranks that share a CPU lose different amounts of time while all compute and while \
         they wait for each other, so measured and predicted steps differ"
    }
}

/// The warning that gaps were too many for a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortGapsLeftOut {
    /// Gaps shorter than this are in no trace, in µs.
    pub below_us: f64,
    /// The share of the lost time that they took, on the rank that lost most.
    pub lost_share: f64,
}

impl WarningKind for ShortGapsLeftOut {
    const CODE: &'static str = "short_gaps_left_out";

    fn message(&self) -> String {
        let Self { below_us, lost_share } = self;
        let percent = lost_share * 100.0;
        format!("gaps below {below_us:.2} µs are omitted from the traces: up to {percent:.1} % of a rank's lost time")
    }

    fn remedy(&self) -> &'static str {
        "measure for a shorter time: the record has room for a limited number of gaps"
    }
}
