//! What the user may set, and the plans of the experiments that the survey is made of.

use crate::evidence::EvidenceChoice;
use crate::experiments::{clock, latency};
use crate::session::Session;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The main job, also run without a command: the clock, the latency laboratory, and 1998 beside today
#[derive(Args, Clone, Debug, Default)]
pub struct Flags {}

/// The plans of the experiments, within one budget.
pub struct Plan {
    pub budget: Duration,
    pub clock: clock::Plan,
    pub latency: latency::Plan,
}

/// The parameters of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    pub budget_s: f64,
    pub clock: clock::Parameters,
    pub latency: latency::Parameters,
}

const DEFAULT_BUDGET: Duration = Duration::from_secs(60);
const CLOCK_SHARE: f64 = 0.2;
/// The critical section of 1998.
const HOLD_NS: f64 = 6_100.0;

impl Plan {
    /// Divides the session's budget, a minute by default.
    pub fn of(session: &Session) -> Self {
        let budget = session.seconds.unwrap_or(DEFAULT_BUDGET);
        let clock_budget = budget.mul_f64(CLOCK_SHARE);
        let mut cells = Vec::new();
        for lock in ["sysv", "benaphore", "std", "parking_lot"] {
            for (threads, competitors) in [(1, 0), (2, 0), (1, 1), (2, 1)] {
                cells.push(latency::CellPlan { lock: lock.to_owned(), threads, competitors });
            }
        }
        Self {
            budget,
            clock: clock::Plan::within(clock_budget, None, session.cpus.iter().collect()),
            latency: latency::Plan {
                cells,
                hold_ns: HOLD_NS,
                placement: latency::Placement::OneCpu,
                cpus: session.cpus.first().into_iter().collect(),
                budget: budget - clock_budget,
                precision: 0.05,
                evidence: EvidenceChoice::Best,
            },
        }
    }

    /// What the record says of the plan.
    pub fn parameters(&self, order: Vec<Vec<usize>>) -> Parameters {
        Parameters {
            budget_s: self.budget.as_secs_f64(),
            clock: self.clock.parameters(),
            latency: self.latency.parameters(order),
        }
    }
}
