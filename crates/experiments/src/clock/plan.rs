//! The plan made from the flags, and its description in a record.

use super::flags::Flags;
use harness::{Session, UsageError};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The input of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The time for the whole experiment.
    pub budget: Duration,
    /// The time for which the CPU is sampled for periodic losses.
    pub watch: Duration,
    /// The lengths of the curve's windows, in nanoseconds, rising.
    pub slices_ns: Vec<f64>,
    /// The CPU that is measured first, and those whose counters are compared with it.
    pub cpus: Vec<usize>,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    pub budget_s: f64,
    pub watch_s: f64,
    pub shortest_slice_us: f64,
    pub longest_slice_us: f64,
    pub cpus: Vec<usize>,
}

const DEFAULT_BUDGET: Duration = Duration::from_secs(20);
const SHORTEST_SLICE_NS: f64 = 10_000.0;
const LONGEST_SLICE: Duration = Duration::from_secs(2);
const SLICES_A_DECADE: f64 = 8.0;

impl Plan {
    /// Divides the session's budget, 20 s by default.
    pub fn of(flags: &Flags, session: &Session) -> Result<Self, UsageError> {
        let budget = session.seconds.unwrap_or(DEFAULT_BUDGET);
        if let Some(longest) = flags.longest.filter(|longest| *longest > budget / 2) {
            let shown = |time: Duration| terminal::nanoseconds(time.as_nanos() as f64).replace(' ', "");
            return Err(UsageError(format!(
                "--longest {}: too long for the time budget of {}; set --seconds to at least twice that, \
                 or a shorter --longest",
                shown(longest),
                shown(budget)
            )));
        }
        if let Some(longest) = flags.longest.filter(|longest| longest.as_nanos() as f64 <= SHORTEST_SLICE_NS) {
            let message = format!("--longest {longest:?}: must be longer than 10us, where the curve begins");
            return Err(UsageError(message));
        }
        Ok(Self::within(budget, flags.longest, session.cpus.iter().collect()))
    }

    /// Divides a budget between the steps.
    pub fn within(budget: Duration, longest: Option<Duration>, cpus: Vec<usize>) -> Self {
        let longest = longest.unwrap_or(LONGEST_SLICE.min(budget / 5));
        let decades = (longest.as_nanos() as f64 / SHORTEST_SLICE_NS).log10().max(0.0);
        let steps = (decades * SLICES_A_DECADE).round();
        let slice = |step: u32| SHORTEST_SLICE_NS * 10_f64.powf(decades * f64::from(step) / steps.max(1.0));
        let watch = (budget / 8).clamp(Duration::from_millis(100), Duration::from_secs(2));
        Self { budget, watch, slices_ns: (0..=steps as u32).map(slice).collect(), cpus }
    }

    /// Returns the description for the record.
    pub fn parameters(&self) -> Parameters {
        Parameters {
            budget_s: self.budget.as_secs_f64(),
            watch_s: self.watch.as_secs_f64(),
            shortest_slice_us: self.slices_ns[0] / 1e3,
            longest_slice_us: self.slices_ns[self.slices_ns.len() - 1] / 1e3,
            cpus: self.cpus.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_rise_from_ten_us_to_the_longest() {
        let plan = Plan::within(Duration::from_secs(20), None, vec![0]);
        assert_eq!(plan.slices_ns[0], 10_000.0);
        assert!((plan.slices_ns.last().unwrap() / 2e9 - 1.0).abs() < 1e-9);
        assert!(plan.slices_ns.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(Plan::within(Duration::from_millis(1), None, vec![0]).slices_ns.len(), 11);
        assert_eq!(Plan::within(Duration::from_secs(1), Some(Duration::ZERO), vec![0]).slices_ns, [10_000.0]);
    }
}
