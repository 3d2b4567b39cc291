//! What a reader of a job's record must know.

use instruments::warning::WarningKind;
use serde::Serialize;

/// Ranks shared CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Oversubscribed {
    /// Of the job.
    pub ranks: u64,
    /// CPUs that they were pinned to.
    pub cpus: u64,
}

impl WarningKind for Oversubscribed {
    const CODE: &'static str = "oversubscribed";

    fn message(&self) -> String {
        let Self { ranks, cpus } = self;
        format!("there are more ranks than CPUs, {ranks} on {cpus}: a step waits for the ranks that wait for the CPU")
    }

    fn remedy(&self) -> &'static str {
        "start no more ranks than CPUs; whose CPU others of the job use loses other time while all compute than while \
         they wait for each other, so measured and predicted steps differ"
    }
}

/// Gaps that were too many for a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortGapsLeftOut {
    /// Gaps shorter than this are in no trace, in µs.
    pub below_us: f64,
    /// The share of the lost time that they took, of the rank that lost most.
    pub lost_share: f64,
}

impl WarningKind for ShortGapsLeftOut {
    const CODE: &'static str = "short_gaps_left_out";

    fn message(&self) -> String {
        let Self { below_us, lost_share } = self;
        let percent = lost_share * 100.0;
        format!("gaps below {below_us:.2} µs are left out of the traces, up to {percent:.1} % of a rank's lost time")
    }

    fn remedy(&self) -> &'static str {
        "measure for a shorter time: the record has room for so many gaps only"
    }
}
