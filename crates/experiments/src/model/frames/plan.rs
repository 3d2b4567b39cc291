//! The plan made from the flags, its description in a record, and the share of the CPU that competing threads get.

use super::super::trace::{self, Description, Trace};
use super::flags::{Flags, Policy};
use chance::Source;
use harness::{Session, UsageError};
use instruments::cpus::schedule::weight;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// An animation that computes ahead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Animation {
    /// The share of the CPU that it needs.
    pub needs_share: f64,
    /// The part of a frame's computation that fits into the buffer.
    pub ahead_frames: f64,
}

/// The input of the computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub policy: Policy,
    pub priorities: Vec<i32>,
    pub shares: Vec<f64>,
    pub contest: Contest,
    pub quanta_ns: Vec<u64>,
    pub frame_ns: u64,
    /// The thresholds as shares of a frame.
    pub thresholds: Vec<f64>,
    pub animation: Animation,
    pub beside: Option<Trace>,
    pub seed: u64,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    pub policy: Policy,
    /// The priorities, of which the first is the thread's with the frames; none if shares were given.
    pub priorities: Vec<i32>,
    pub shares: Vec<f64>,
    /// The share of the CPU that the other threads take.
    pub others_share: f64,
    /// The share as a fraction; `null` where shares were given.
    pub others_fraction: Option<String>,
    pub quantum_us: Vec<f64>,
    pub frame_us: f64,
    pub more_than_share: Vec<f64>,
    pub animation_needs_share: f64,
    pub animation_ahead_frames: f64,
    pub beside: Option<Description>,
    pub assumptions: Vec<String>,
}

/// The flag that names the trace of the other tasks.
const BESIDE: &str = "--beside";
/// The default length of a frame, a 60th of a second.
const FRAME: Duration = Duration::from_nanos(16_666_667);

impl Plan {
    /// Checks the flags and reads the trace.
    pub fn of(flags: &Flags, session: &Session) -> anyhow::Result<Self> {
        let frame = flags.frame.unwrap_or(FRAME);
        if frame.is_zero() {
            return Err(UsageError("--frame 0: must be greater than 0".into()).into());
        }
        if let Some(quantum) = flags.quantum.iter().find(|quantum| quantum.is_zero() || **quantum > frame) {
            let message = format!("--quantum {quantum:?}: must be greater than 0 and at most the frame, {frame:?}");
            return Err(UsageError(message).into());
        }
        let priorities = priorities(flags);
        let contest = Contest::of(flags, &priorities)?;
        let beside = flags.beside.as_deref().map(|path| trace::read(BESIDE, path, flags.span)).transpose()?;
        if let Some(trace) = beside.as_ref().filter(|trace| trace.gaps.span_ns() < frame.as_nanos() as u64) {
            let message = format!(
                "{BESIDE} {}: the recording of {} s is shorter than a frame of {frame:?}",
                trace.description.file, trace.description.span_s
            );
            return Err(UsageError(message).into());
        }
        Ok(Self {
            policy: flags.policy,
            priorities,
            shares: flags.shares.clone(),
            contest,
            quanta_ns: flags.quantum.iter().map(|quantum| quantum.as_nanos() as u64).collect(),
            frame_ns: frame.as_nanos() as u64,
            thresholds: flags.more_than.iter().map(|percent| percent / 100.0).collect(),
            animation: Animation { needs_share: flags.needs, ahead_frames: flags.ahead.unwrap_or(1.0 / 3.0) },
            beside,
            seed: session.seed,
        })
    }

    /// Returns the description for the record.
    pub fn parameters(&self) -> Parameters {
        let us = |ns: u64| ns as f64 / 1e3;
        let divisor = gcd(self.contest.lost, self.contest.total);
        Parameters {
            policy: self.policy,
            priorities: self.priorities.clone(),
            shares: self.shares.clone(),
            others_share: self.contest.share(),
            others_fraction: (self.shares.is_empty())
                .then(|| format!("{}/{}", self.contest.lost / divisor, self.contest.total / divisor)),
            quantum_us: self.quanta_ns.iter().copied().map(us).collect(),
            frame_us: us(self.frame_ns),
            more_than_share: self.thresholds.clone(),
            animation_needs_share: self.animation.needs_share,
            animation_ahead_frames: self.animation.ahead_frames,
            beside: self.beside.as_ref().map(|trace| trace.description.clone()),
            assumptions: self.assumptions(),
        }
    }

    fn assumptions(&self) -> Vec<String> {
        let chosen = match self.policy {
            Policy::Lottery => "independence: every quantum is drawn independently of the previous one",
            Policy::Weights => {
                "alternation: the other threads' quanta are spaced evenly; a frame begins at a random moment between two of them"
            }
        };
        let rest = [
            "stationarity: every thread is always runnable, and no other task is",
            "a frame contains a whole number of quanta; the rest of the frame belongs to the thread with the frames",
        ];
        let mut all: Vec<String> = std::iter::once(chosen).chain(rest).map(str::to_owned).collect();
        if let Some(trace) = &self.beside {
            let counted =
                "the trace is divided into consecutive frames; a loss is rounded to the nearest number of quanta";
            all.push(counted.to_owned());
            all.extend(trace.description.assumptions().into_iter().filter(|text| !text.starts_with("stationarity")));
        }
        all
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The competition: out of `total` quanta, the thread with the frames loses `lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contest {
    pub lost: u64,
    pub total: u64,
}

/// A probability of one, for shares that the user gives.
const WHOLE: u64 = 1 << 53;

impl Contest {
    /// Creates the competition between threads of these priorities, or with the shares that the flags give.
    pub fn of(flags: &Flags, priorities: &[i32]) -> Result<Self, UsageError> {
        if !flags.shares.is_empty() {
            return by_shares(flags);
        }
        match flags.policy {
            Policy::Lottery => lottery(priorities),
            Policy::Weights => weights(priorities),
        }
    }

    /// Returns the share of the CPU that the other threads take.
    pub fn share(&self) -> f64 {
        self.lost as f64 / self.total as f64
    }
}

/// Returns the given priorities, or the policy's own; none where shares are given.
pub fn priorities(flags: &Flags) -> Vec<i32> {
    if !flags.shares.is_empty() {
        return Vec::new();
    }
    match (flags.priorities.as_slice(), flags.policy) {
        ([], Policy::Lottery) => vec![20, 10],
        ([], Policy::Weights) => vec![0, 10],
        (given, _) => given.to_vec(),
    }
}

/// Returns the competition by lottery: each thread has twice the tickets of one whose priority is a unit lower.
fn lottery(priorities: &[i32]) -> Result<Contest, UsageError> {
    within(priorities, 1..=99, "allowed: 1 to 99, the priorities of time-sharing threads")?;
    let least = priorities.iter().min().copied().unwrap_or_default();
    let tickets = priorities.iter().map(|priority| 1_u64.checked_shl((priority - least) as u32));
    contest(tickets).ok_or_else(|| {
        UsageError(format!(
            "--priorities {}: they may differ by at most 62; beyond that, one thread never runs in practice",
            listed(priorities)
        ))
    })
}

fn weights(nice: &[i32]) -> Result<Contest, UsageError> {
    within(nice, -20..=19, "allowed: nice values from -20 to 19")?;
    let weights = nice.iter().map(|nice| Some(u64::from(weight(*nice))));
    Ok(contest(weights).expect("forty weights of 17 bits at most, and a command line of threads, fit 64 bits"))
}

/// Returns the competition of the first thread's tickets with all; `None` if they are too many to count.
fn contest(mut tickets: impl Iterator<Item = Option<u64>>) -> Option<Contest> {
    let own = tickets.next()??;
    let lost = tickets.try_fold(0_u64, |sum, ticket| sum.checked_add(ticket?))?;
    Some(Contest { lost, total: own.checked_add(lost)? })
}

fn by_shares(flags: &Flags) -> Result<Contest, UsageError> {
    if flags.policy != Policy::Lottery {
        return Err(UsageError("--shares: only allowed with --policy lottery; omit --policy weights".into()));
    }
    let named = flags.shares.iter().enumerate().map(|(thread, share)| (thread, *share));
    Source::with_probabilities(named).map_err(|error| {
        let given: Vec<String> = flags.shares.iter().map(f64::to_string).collect();
        UsageError(format!("--shares {}: {error}", given.join(",")))
    })?;
    Ok(Contest { lost: WHOLE - (flags.shares[0] * WHOLE as f64) as u64, total: WHOLE })
}

fn within(priorities: &[i32], allowed: std::ops::RangeInclusive<i32>, why: &str) -> Result<(), UsageError> {
    let text = listed(priorities);
    if let Some(outside) = priorities.iter().find(|priority| !allowed.contains(priority)) {
        return Err(UsageError(format!("--priorities {text}: {outside} is out of range; {why}")));
    }
    if priorities.len() < 2 {
        return Err(UsageError(format!(
            "--priorities {text}: needs at least two values, for the thread with the frames and for a competitor, such as 20,10"
        )));
    }
    Ok(())
}

fn listed(priorities: &[i32]) -> String {
    priorities.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_of_priority_is_a_factor_of_two() {
        assert_eq!(lottery(&[20, 10]).unwrap(), Contest { lost: 1, total: 1025 });
        assert_eq!(lottery(&[10, 11, 10]).unwrap(), Contest { lost: 3, total: 4 });
        assert!(lottery(&[99, 1]).is_err() && lottery(&[20]).is_err() && lottery(&[100, 10]).is_err());
    }

    #[test]
    fn a_nice_step_is_about_a_tenth_of_the_cpu() {
        assert_eq!(weights(&[0, 19]).unwrap(), Contest { lost: 15, total: 1039 });
        for nice in -20..19 {
            let share = weights(&[nice, nice + 1]).unwrap().share();
            assert!((0.42..0.48).contains(&share), "{nice}: {share}");
        }
    }
}
