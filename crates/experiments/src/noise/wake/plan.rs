//! The plan made from the flags: the intervals of wake-ups, their CPUs, and their scheduling policy.

use super::sleeper::slack_ns;
use crate::noise::cells::{Machine, is_granted, no_realtime};
use crate::noise::every_cpu;
use crate::noise::flags::Flags;
use crate::noise::plan::{WakeParameters, chosen_cpu};
use crate::noise::timer::{Policy, Timer};
use harness::{EvidenceChoice, Session, SharedFlags, UsageError};
use instruments::cpus::schedule::Schedule;
use instruments::cpus::{CpuSet, online, priority};
use instruments::warning::{LeftOut, Warning};
use std::time::Duration;

/// The input of the measurement.
#[derive(Clone, Debug)]
pub struct WakePlan {
    pub intervals: Vec<Duration>,
    pub policy: Policy,
    pub timer: Timer,
    /// The CPUs, each with its own thread, …
    pub cpus: CpuSet,
    /// … unless the kernel places the only one.
    pub is_pinned: bool,
    /// The nice value of the process.
    pub nice: i32,
    pub slack_ns: u64,
    pub budget: Duration,
    /// The length of a repetition of one interval.
    pub turn: Duration,
    pub turns: u64,
    pub evidence: EvidenceChoice,
    /// The limit; the first wake-up that is later ends the measurement.
    pub stop_above: Option<Duration>,
    /// Whether wake-ups are counted by their latency in microseconds.
    pub counts_by_us: bool,
    pub warnings: Vec<Warning>,
}

pub const DEFAULT_BUDGET: Duration = Duration::from_secs(20);
/// The number of repetitions of a cell, if they have room for some wake-ups each.
const TURNS: u64 = 6;
const WAKES_A_TURN: u32 = 20;
/// The length of a repetition in a long run, so that there is a line for each minute.
const A_MINUTE: Duration = Duration::from_secs(60);
/// The time of a turn in addition to its wake-ups; the kernel trace is opened once.
const BESIDE_A_TURN: Duration = Duration::from_millis(100);

impl WakePlan {
    /// Checks the flags against the machine and fills in the defaults.
    ///
    /// # Errors
    /// A CPU may not be used, or this process may not use the policy.
    pub fn of(flags: &Flags, shared: &SharedFlags, session: &Session) -> Result<Self, UsageError> {
        let mut intervals = flags.wake.clone();
        intervals.sort_unstable();
        intervals.dedup();
        let longest = intervals.last().copied().unwrap_or_default();
        let (cpus, mut warnings) = cpus(flags, shared, session)?;
        let nice = priority::current().map_or(0, |priority| priority.nice);
        check_right(flags.policy, nice, &intervals, session)?;
        let budget = session.seconds.unwrap_or(DEFAULT_BUDGET);
        let a_cell = budget / intervals.len() as u32;
        let short = (a_cell.as_nanos() / (longest * WAKES_A_TURN).as_nanos()).clamp(1, TURNS.into()) as u64;
        let (turns, turn) =
            if session.is_long() { (u64::MAX, A_MINUTE) } else { (short, turn_of(a_cell / short as u32)) };
        warnings.extend((flags.policy.is_realtime()).then(|| realtime_warning(session)).flatten());
        Ok(Self {
            intervals,
            policy: flags.policy,
            timer: flags.timer,
            is_pinned: flags.policy != Policy::Deadline,
            cpus,
            nice,
            // A real-time thread has no slack.
            slack_ns: if flags.timer.has_slack() && !flags.policy.is_realtime() { slack_ns() } else { 0 },
            budget,
            turn,
            turns,
            evidence: flags.evidence,
            stop_above: flags.stop_above,
            counts_by_us: flags.histogram,
            warnings,
        })
    }

    pub fn schedule(&self, interval: Duration) -> Schedule {
        self.policy.schedule(self.nice, interval)
    }

    /// Returns the description for the record.
    pub fn parameters(&self) -> WakeParameters {
        WakeParameters {
            intervals_us: self.intervals.iter().map(|interval| interval.as_secs_f64() * 1e6).collect(),
            policy: self.policy.to_string(),
            timer: self.timer,
            cpus: self.cpus.iter().collect(),
        }
    }
}

/// Returns the wake-ups' part of a repetition's time.
fn turn_of(time: Duration) -> Duration {
    time.saturating_sub(BESIDE_A_TURN).max(time / 2)
}

fn realtime_warning(session: &Session) -> Option<Warning> {
    // The thread sleeps between its wake-ups: much less than this.
    instruments::warning::realtime_throttling(&session.environment, 0.5)
}

/// Returns the CPUs that get a thread, and warnings about the others.
fn cpus(flags: &Flags, shared: &SharedFlags, session: &Session) -> Result<(CpuSet, Vec<Warning>), UsageError> {
    if flags.policy == Policy::Deadline {
        return match shared.cpus.is_some() {
            true => Err(UsageError(
                "--policy deadline: the kernel places deadline threads itself and refuses pinned ones; omit --cpus, \
                 and the record has a row for each CPU that the thread woke on"
                    .into(),
            )),
            false => Ok((session.cpus.clone(), Vec::new())),
        };
    }
    let Some((cpus, left_out)) = every_cpu::chosen(flags, shared, session)? else {
        return Ok((CpuSet::single(chosen_cpu(session)?), Vec::new()));
    };
    let mut warnings: Vec<Warning> = left_out.into_iter().collect();
    let has_all = online().is_ok_and(|online| online.iter().all(|cpu| cpus.contains(cpu)));
    match cpus.first() {
        Some(first) if flags.policy.is_realtime() && has_all && cpus.len() > 1 => {
            let reason = "real-time threads must leave one CPU to other tasks".into();
            warnings.push(LeftOut { what: format!("CPU {first}"), reason }.into());
            Ok((cpus.iter().skip(1).collect(), warnings))
        }
        _ => Ok((cpus, warnings)),
    }
}

/// Checks that a thread of contend may be scheduled so, by trying it at every interval.
fn check_right(policy: Policy, nice: i32, intervals: &[Duration], session: &Session) -> Result<(), UsageError> {
    if !policy.is_realtime() {
        return Ok(());
    }
    let refused = |reason: String| {
        UsageError(format!("--policy {policy}: {reason}; nothing was measured. --policy other needs no privilege"))
    };
    let machine = Machine { lone_cpu: online().map_or(true, |cpus| cpus.len() == 1), session: &session.cpus };
    if let Some(reason) = no_realtime(&machine) {
        return Err(refused(reason));
    }
    for &interval in intervals {
        is_granted(policy.schedule(nice, interval)).map_err(|error| {
            let hint = match policy {
                Policy::Deadline => {
                    " (it needs CAP_SYS_NICE, every CPU of the machine in the affinity mask, and an interval from \
                     100us to 4s as the kernel is set)"
                }
                _ => " (RLIMIT_RTPRIO may allow a lower priority)",
            };
            refused(format!("the kernel refused it at {interval:?}: {error}{hint}"))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_written_as_parsed() {
        for text in ["other", "fifo:1", "fifo:80", "deadline"] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
        for wrong in ["", "fifo", "fifo:0", "fifo:100", "rr:1", "other:1"] {
            assert!(wrong.parse::<Policy>().unwrap_err().contains("fifo:N"), "{wrong}");
        }
    }
}
