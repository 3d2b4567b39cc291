//! The plan made from the flags, and its description in a record.

use super::flags::Flags;
use super::flags::Priority;
use harness::{Session, UsageError};
use instruments::cpus::{self, CpuSet};
use instruments::environment::Cpu;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The input of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The length of the measurement; `None` is until the user stops it.
    pub length: Option<Duration>,
    /// The reporting interval.
    pub interval: Duration,
    /// The priority of the spinners.
    pub priority: Priority,
    /// The number of spinners on each CPU.
    pub grinders: usize,
    /// The measured CPUs.
    pub cpus: Vec<usize>,
    /// Those of them that share a core with another of them: the SMT sibling there is another spinner.
    pub beside_our_own: Vec<usize>,
    /// The CPU that is not used because real-time threads must not have all.
    pub spared: Option<usize>,
    /// Whether the rows of the intervals are kept for the record.
    pub keep_intervals: bool,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    /// The planned length; `None` is until a signal.
    pub length_s: Option<f64>,
    pub interval_s: f64,
    /// The requested priority; a row has the granted one.
    pub priority: String,
    pub grinders: usize,
    pub cpus: Vec<usize>,
    /// The work whose count gives `grind_share`, in microseconds.
    pub grind_us: f64,
    /// The source of the exact time of all tasks, if any.
    pub exact_account: Option<String>,
}

const RECORD_LENGTH: Duration = Duration::from_secs(10);

impl Plan {
    /// Checks the flags against the machine and fills in the defaults.
    ///
    /// If a record is requested the run has an end, and the record has the rows of all intervals.
    pub fn of(flags: &Flags, record_wanted: bool, session: &Session) -> Result<Self, UsageError> {
        let length = session.seconds.or(record_wanted.then_some(RECORD_LENGTH));
        if flags.priority.is_realtime() && flags.grinders > 1 {
            let (priority, grinders) = (flags.priority, flags.grinders);
            return Err(UsageError(format!(
                "--grinders {grinders} with --priority {priority}: real-time spinners must sleep periodically, so they do \
                 not share the whole CPU; use idle, batch or a nice value"
            )));
        }
        let (cpus, spared) = watched(flags.priority, &session.cpus)?;
        Ok(Self {
            length,
            interval: length.map_or(flags.interval, |length| flags.interval.min(length)),
            priority: flags.priority,
            grinders: flags.grinders.into(),
            beside_our_own: beside_our_own(&cpus, &session.environment.cpu),
            cpus,
            spared,
            keep_intervals: record_wanted,
        })
    }

    /// Returns the measured CPUs.
    pub fn cpu_set(&self) -> CpuSet {
        self.cpus.iter().copied().collect()
    }

    /// Returns the description for the record.
    pub fn parameters(&self, exact_account: Option<&str>) -> Parameters {
        Parameters {
            length_s: self.length.map(|length| length.as_secs_f64()),
            interval_s: self.interval.as_secs_f64(),
            priority: self.priority.to_string(),
            grinders: self.grinders,
            cpus: self.cpus.clone(),
            grind_us: loops::load::GRIND.as_nanos() as f64 / 1e3,
            exact_account: exact_account.map(str::to_owned),
        }
    }
}

/// Returns the CPUs to measure, and the one that is spared: real-time threads must leave one of the machine's CPUs to
/// others.
fn watched(priority: Priority, session: &CpuSet) -> Result<(Vec<usize>, Option<usize>), UsageError> {
    let cpus: Vec<usize> = session.iter().collect();
    let others_left = cpus::online().is_ok_and(|online| online.iter().any(|cpu| !session.contains(cpu)));
    if !priority.is_realtime() || others_left {
        return Ok((cpus, None));
    }
    match cpus.split_last() {
        Some((&spared, rest)) if !rest.is_empty() => Ok((rest.to_vec(), Some(spared))),
        _ => Err(UsageError(format!(
            "--priority {priority}: real-time threads must leave one CPU to other tasks, and this machine has only one; use \
             idle, batch or a nice value"
        ))),
    }
}

fn beside_our_own(cpus: &[usize], machine: &Cpu) -> Vec<usize> {
    let is_shared = |cpu: usize| cpus.iter().any(|&other| other != cpu && machine.share_a_core(cpu, other));
    cpus.iter().copied().filter(|&cpu| is_shared(cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn realtime_threads_never_get_all_cpus() {
        let online = cpus::online().unwrap();
        let fifo: Priority = "fifo".parse().unwrap();
        match watched(fifo, &online) {
            Ok((cpus, spared)) => assert!(cpus.len() + 1 == online.len() && spared == online.last()),
            Err(misuse) => assert!(online.len() == 1 && misuse.0.contains("only one")),
        }
        assert_eq!(watched(Priority::IDLE, &online).unwrap().1, None);
    }
}
