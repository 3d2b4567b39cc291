//! The plan that comes of the flags and the machine, and what the record says of it.

use super::flags::Flags;
use harness::{Neighbour, Session, UsageError};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Everything that the measurement needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub budget: Duration,
    pub cpus: Vec<usize>,
    /// Whether it is tried which of them share a core.
    pub pairs: bool,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    pub budget_s: f64,
    pub cpus: Vec<usize>,
    /// What a probe takes.
    pub probe_us: f64,
    /// CPUs that were probed at the same time, in groups that took turns.
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
