//! The plan made from the flags and the machine, and its description in the record.

use super::flags::Flags;
use harness::Session;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The input of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub budget: Duration,
    pub batch: u32,
    pub cpus: Vec<usize>,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    pub budget_s: f64,
    /// The number of calls between two timestamps.
    pub batch: u32,
}

const DEFAULT_BUDGET: Duration = Duration::from_secs(2);

impl Plan {
    /// Fills in the defaults.
    pub fn of(flags: &Flags, session: &Session) -> Self {
        let budget = session.seconds.unwrap_or(DEFAULT_BUDGET);
        Self { budget, batch: flags.batch, cpus: session.cpus.iter().collect() }
    }

    /// Returns the description for the record.
    pub fn parameters(&self) -> Parameters {
        Parameters { budget_s: self.budget.as_secs_f64(), batch: self.batch }
    }
}
