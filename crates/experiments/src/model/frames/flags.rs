//! What the user may set, and the plan that comes of it.

use super::super::trace::{self, Description, Trace};
use chance::Source;
use clap::{Args, ValueEnum};
use harness::Session;
use harness::UsageError;
use harness::parse_duration;
use instruments::cpus::schedule::weight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// How often another busy thread spoils a frame: the time-sharing lottery of 1999, or Linux nice weights
///
/// A thread computes frames and never blocks; beside it others never block either. Every quantum goes to one of them.
/// Without flags it computes the figures of 1999: priorities 20 and 10, 60 frames a second, a quantum of 3 ms and one of
/// 100 µs.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Who gets a quantum
    #[arg(long, value_name = "POLICY", default_value = "lottery")]
    policy: Policy,

    /// Priorities: first the thread with the frames, then each competitor; 1 to 99 in the lottery, nice values of -20
    /// to 19 for weights [default: 20,10 in the lottery, 0,10 for weights]
    #[arg(long, value_name = "P,…", value_delimiter = ',', allow_hyphen_values = true)]
    priorities: Vec<i32>,

    /// Shares of the CPU in place of priorities, drawn by lot, first that of the thread with the frames; they sum to 1
    #[arg(
        long,
        value_name = "SHARE,…",
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "priorities"
    )]
    shares: Vec<f64>,

    /// How long a thread runs once it was chosen; several make several tables
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "3ms,100us", value_parser = parse_duration::span,
          allow_hyphen_values = true)]
    quantum: Vec<Duration>,

    /// Length of a frame [default: a 60th of a second]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    frame: Option<Duration>,

    /// Ask how often a frame loses more than this many per cent
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', default_value = "2", value_parser = percent,
          allow_hyphen_values = true)]
    more_than: Vec<f64>,

    /// The buffered animation: the share of the CPU that it needs
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = parse_duration::share, allow_hyphen_values = true)]
    needs: f64,

    /// The buffered animation: how much of a frame's computation it can do ahead [default: a third]
    #[arg(long, value_name = "FRAMES", value_parser = ahead, allow_hyphen_values = true)]
    ahead: Option<f64>,

    /// Put the frames of a recorded trace beside the model's
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,

    /// How long the trace's recording lasted [default: its line `# span_ns N`, else the end of its last gap]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, requires = "beside", allow_hyphen_values = true)]
    span: Option<Duration>,
}

/// How the scheduler chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// By lot, with a factor of two for each unit of priority (BeOS)
    Lottery,
    /// In turn, by the weights of nice values (Linux)
    Weights,
}

/// Who competes: out of `total` quanta, the thread with the frames loses `lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contest {
    pub lost: u64,
    pub total: u64,
}

/// An animation that computes ahead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Animation {
    /// Of the CPU.
    pub needs_share: f64,
    /// Of a frame's computation.
    pub ahead_frames: f64,
}

/// Everything that is computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub policy: Policy,
    pub priorities: Vec<i32>,
    pub shares: Vec<f64>,
    pub contest: Contest,
    pub quanta_ns: Vec<u64>,
    pub frame_ns: u64,
    /// Shares of a frame.
    pub thresholds: Vec<f64>,
    pub animation: Animation,
    pub beside: Option<Trace>,
    pub seed: u64,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    pub policy: Policy,
    /// The first is the thread with the frames; none if shares were given.
    pub priorities: Vec<i32>,
    pub shares: Vec<f64>,
    /// What the others take of the CPU.
    pub others_share: f64,
    /// The same as a fraction; `null` where shares were given.
    pub others_fraction: Option<String>,
    pub quantum_us: Vec<f64>,
    pub frame_us: f64,
    pub more_than_share: Vec<f64>,
    pub animation_needs_share: f64,
    pub animation_ahead_frames: f64,
    pub beside: Option<Description>,
    pub assumptions: Vec<String>,
}

/// A 60th of a second.
const FRAME: Duration = Duration::from_nanos(16_666_667);

/// A probability of one, for shares that the user gives.
const WHOLE: u64 = 1 << 53;

impl Plan {
    /// Checks the flags and reads the trace.
    ///
    /// # Errors
    /// Priorities that the policy does not have, shares that do not sum to one, a quantum longer than a frame, a trace
    /// that makes no sense.
    pub fn of(flags: &Flags, session: &Session) -> anyhow::Result<Self> {
        let frame = flags.frame.unwrap_or(FRAME);
        if frame.is_zero() {
            return Err(UsageError("--frame 0: it must be more than 0".into()).into());
        }
        if let Some(quantum) = flags.quantum.iter().find(|quantum| quantum.is_zero() || **quantum > frame) {
            let message = format!("--quantum {quantum:?}: it must be more than 0 and at most the frame, {frame:?}");
            return Err(UsageError(message).into());
        }
        let priorities = if flags.shares.is_empty() { priorities(flags) } else { Vec::new() };
        let contest = if flags.shares.is_empty() {
            match flags.policy {
                Policy::Lottery => lottery(&priorities)?,
                Policy::Weights => weights(&priorities)?,
            }
        } else {
            by_shares(flags)?
        };
        let beside = flags.beside.as_deref().map(|path| trace::read("--beside", path, flags.span)).transpose()?;
        if let Some(trace) = beside.as_ref().filter(|trace| trace.gaps.span_ns() < frame.as_nanos() as u64) {
            let message = format!(
                "--beside {}: the recording of {} s holds no frame of {frame:?}",
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

    /// The parameters as the record has them.
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
            Policy::Lottery => "independence: every quantum is drawn anew, whoever had the last one",
            Policy::Weights => "turns: the others' quanta are spaced evenly; a frame begins anywhere between two",
        };
        let rest = [
            "stationarity: every thread always wants to run, and nothing else does",
            "a frame holds a whole number of quanta; what is left of it belongs to the thread with the frames",
        ];
        let mut all: Vec<String> = std::iter::once(chosen).chain(rest).map(str::to_owned).collect();
        if let Some(trace) = &self.beside {
            let counted =
                "the trace is cut into frames one after another; a loss counts as the nearest number of quanta";
            all.push(counted.to_owned());
            all.extend(trace.description.assumptions().into_iter().filter(|text| !text.starts_with("stationarity")));
        }
        all
    }
}

impl Contest {
    /// What the others take of the CPU.
    pub fn share(&self) -> f64 {
        self.lost as f64 / self.total as f64
    }
}

fn priorities(flags: &Flags) -> Vec<i32> {
    match (flags.priorities.as_slice(), flags.policy) {
        ([], Policy::Lottery) => vec![20, 10],
        ([], Policy::Weights) => vec![0, 10],
        (given, _) => given.to_vec(),
    }
}

/// Each thread has twice the tickets of one whose priority is a unit lower.
fn lottery(priorities: &[i32]) -> Result<Contest, UsageError> {
    within(priorities, 1..=99, "the lottery is between time-sharing threads, of priorities 1 to 99")?;
    let least = priorities.iter().min().copied().unwrap_or_default();
    let tickets = priorities.iter().map(|priority| 1_u64.checked_shl((priority - least) as u32));
    contest(tickets).ok_or_else(|| {
        UsageError(format!("--priorities {}: more than 62 apart, one never runs in practice", listed(priorities)))
    })
}

fn weights(nice: &[i32]) -> Result<Contest, UsageError> {
    within(nice, -20..=19, "nice values go from -20 to 19")?;
    let weights = nice.iter().map(|nice| Some(u64::from(weight(*nice))));
    Ok(contest(weights).expect("forty weights of 17 bits at most, and a command line of threads, fit 64 bits"))
}

/// The first's tickets against everyone's; `None` if they are too many to count.
fn contest(mut tickets: impl Iterator<Item = Option<u64>>) -> Option<Contest> {
    let own = tickets.next()??;
    let lost = tickets.try_fold(0_u64, |sum, ticket| sum.checked_add(ticket?))?;
    Some(Contest { lost, total: own.checked_add(lost)? })
}

fn by_shares(flags: &Flags) -> Result<Contest, UsageError> {
    if flags.policy != Policy::Lottery {
        return Err(UsageError("--shares: they are drawn by lot; leave out --policy weights".into()));
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
        return Err(UsageError(format!("--priorities {text}: {outside} is not allowed; {why}")));
    }
    if priorities.len() < 2 {
        return Err(UsageError(format!(
            "--priorities {text}: name the thread with the frames and a competitor, such as 20,10"
        )));
    }
    Ok(())
}

fn listed(priorities: &[i32]) -> String {
    priorities.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (0.0..100.0).contains(&percent) => Ok(percent),
        _ => Err("it must be a percentage from 0 to below 100, such as 2".into()),
    }
}

fn ahead(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(frames) if (0.0..=1000.0).contains(&frames) => Ok(frames),
        _ => Err("it must be a number of frames from 0 to 1000, such as 0.333".into()),
    }
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
