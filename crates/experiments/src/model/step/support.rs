//! How many nodes a recorded trace is long enough for.

use super::warnings::Extrapolated;
use harness::UsageError;
use instruments::warning::{LeftOut, Warning};
use std::time::Duration;

/// A trace supports a figure if it is long enough for the median.
pub const MEDIAN: f64 = 0.5;

/// How far a trace reaches with steps of one length.
pub struct Support {
    pub step: Duration,
    pub nodes: u64,
    pub extrapolate: bool,
    /// The length of the recording.
    pub span_s: f64,
}

impl Support {
    /// The numbers asked for, or those of the defaults that the trace supports.
    pub fn admit(
        &self,
        flag: &str,
        requested: &[u64],
        defaults: impl Iterator<Item = u64>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<u64>, UsageError> {
        let all: Vec<u64> = if requested.is_empty() { defaults.collect() } else { requested.to_vec() };
        let Some(&beyond) = all.iter().find(|number| **number > self.nodes) else { return Ok(all) };
        let (name, first) = (flag.trim_start_matches('-'), terminal::count(beyond));
        let what = format!("a number of {name} from {first} on, with steps of {:?},", self.step);
        let supported = terminal::count(self.nodes);
        if self.extrapolate {
            warnings.push(Warning::from(Extrapolated { what, supported }));
            return Ok(all);
        }
        if !requested.is_empty() {
            return Err(self.refusal(&format!("{flag} {beyond}"), beyond));
        }
        let reason = format!("the recording supports {supported}; record for longer, or allow it with --extrapolate");
        warnings.push(Warning::from(LeftOut { what, reason }));
        Ok(all.into_iter().filter(|number| *number <= self.nodes).collect())
    }

    pub fn refusal(&self, flag: &str, nodes: u64) -> UsageError {
        let needed_s = self.step.as_secs_f64() / -(MEDIAN.ln() / nodes as f64).exp_m1();
        UsageError(format!(
            "{flag}: a recording of {} s supports {} nodes with steps of {:?}; for {} record at least {:.3} s with \
             `contend noise --seconds … --trace FILE`, or allow it with --extrapolate",
            self.span_s,
            terminal::count(self.nodes),
            self.step,
            terminal::count(nodes),
            // Rounded up, so that what is advised is enough.
            (needed_s * 1e3).ceil() / 1e3,
        ))
    }
}
