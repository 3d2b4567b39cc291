//! The plan made from the flags and the machine, and its description in the record.

use super::flags::Flags;
use harness::{Neighbour, Session, UsageError};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The input of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub budget: Duration,
    pub cpus: Vec<usize>,
    /// Whether the pairs of CPUs that share a core are tested.
    pub pairs: bool,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    pub budget_s: f64,
    pub cpus: Vec<usize>,
    /// The length of a probe.
    pub probe_us: f64,
    /// The groups of CPUs that were probed at the same time, one group after another.
    pub groups: Vec<Vec<usize>>,
}

const DEFAULT_BUDGET: Duration = Duration::from_secs(10);

impl Plan {
    /// Fills in the defaults.
    pub fn of(flags: &Flags, session: &Session) -> Result<Self, UsageError> {
        if session.neighbour == Neighbour::Ignore {
            return Err(UsageError(
                "--neighbour ignore: not allowed here, since this experiment measures SMT interference".into(),
            ));
        }
        let budget = session.seconds.unwrap_or(DEFAULT_BUDGET);
        Ok(Self { budget, cpus: session.cpus.iter().collect(), pairs: !flags.no_pairs })
    }
}
