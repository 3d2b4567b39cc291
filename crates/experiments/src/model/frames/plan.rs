//! The plan that comes of the flags, and what a record says of it.

use super::super::trace::{self, Description, Trace};
use super::contest::{Contest, priorities};
use super::flags::{Flags, Policy};
use harness::{Session, UsageError};
use serde::{Deserialize, Serialize};
use std::time::Duration;

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// The flag that names the trace of the other tasks.
const BESIDE: &str = "--beside";
/// A 60th of a second.
const FRAME: Duration = Duration::from_nanos(16_666_667);

impl Plan {
    /// Checks the flags and reads the trace.
    ///
    /// # Errors
    /// Priorities that the policy does not have, shares that do not sum to one, a quantum longer than a frame, a trace
    /// that makes no sense.
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
