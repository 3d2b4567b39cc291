//! The plan that comes of the flags.

use super::client::Client;
use super::flags::SwapFlags;
use super::limit::Limit;
use super::metric::Pattern;
use super::only::{self, Found, Rehearsal};
use super::scene::Scene;
use super::sides::TIMES;
use super::variant::Variant;
use super::verdict;
use crate::trace::flags::{Flags, PATIENCE};
use crate::trace::lost::Lost;
use crate::trace::program::Program;
use harness::{Session, UsageError};
use std::cell::Cell;
use std::time::Duration;

/// Everything that the measurement needs to know.
pub struct Plan {
    pub program: Program,
    pub locks: Vec<&'static exchange::Named>,
    /// Only the mutexes that lie here; all if there is none.
    pub only: Found,
    /// Among these is looked for those that matter, if that is asked for.
    pub search: Option<Found>,
    /// What found no room in the runs that ranked its locks.
    pub lost: Lost,
    pub metrics: Vec<Metric>,
    pub prepare: Option<String>,
    pub cleanup: Option<String>,
    /// What measures it, if it is a server.
    pub client: Option<Client>,
    pub warmup: u64,
    pub at_least: u64,
    pub at_most: u64,
    /// The width of a ratio's interval that is narrow enough, unless the runs are counted.
    pub precision: Option<f64>,
    pub budget: Option<Duration>,
    pub limits: Vec<Limit>,
}

/// What is found in the output, and which way is better.
#[derive(Clone, Debug)]
pub struct Metric {
    pub pattern: Pattern,
    pub higher_is_better: bool,
}

/// A median has an interval from so many on.
const FEWEST: u64 = 6;
const MOST: u64 = 30;
const PRECISION: f64 = 0.02;

impl Plan {
    /// Checks what goes together.
    ///
    /// # Errors
    /// A name that no metric has, or two have; a mutex that is not found.
    pub fn of(flags: &Flags, program: Program, session: &Session) -> anyhow::Result<Self> {
        let patience = flags.patience.unwrap_or(PATIENCE);
        let flags = &flags.swap;
        let (prepare, cleanup) = (flags.prepare.as_deref(), flags.cleanup.as_deref());
        let fewest = fewest_runs(flags)?;
        let client = flags.client.clone().map(|command| Client { command, port: flags.port, patience });
        let scene = Scene { prepare, cleanup, client: client.as_ref(), pause: None };
        let lost = Cell::default();
        let rehearsal = Rehearsal { program: &program, scene, interruption: &session.interruption, lost: &lost };
        let only = only::find(&flags.swap_only, rehearsal)?;
        let search = if flags.search { Some(only::candidates(rehearsal)?) } else { None };
        Ok(Self {
            program,
            only,
            search,
            lost: lost.get(),
            locks: flags.locks(),
            metrics: metrics(flags)?,
            prepare: flags.prepare.clone(),
            cleanup: flags.cleanup.clone(),
            client,
            warmup: flags.warmup.unwrap_or(1),
            at_least: flags.runs.unwrap_or(fewest),
            at_most: flags.runs.unwrap_or(if session.seconds.is_some() { u64::MAX } else { MOST }),
            precision: if flags.runs.is_some() { None } else { Some(PRECISION) },
            budget: session.seconds,
            limits: flags.fail_if.clone(),
        })
    }
}

impl Plan {
    /// What is around every run.
    pub fn scene(&self) -> Scene<'_> {
        let (prepare, cleanup) = (self.prepare.as_deref(), self.cleanup.as_deref());
        Scene { prepare, cleanup, client: self.client.as_ref(), pause: None }
    }

    /// What is compared.
    pub fn variants(&self) -> Vec<Variant> {
        let pass = Variant { lock: exchange::PASS, only: Found::new() };
        let locks = self.locks.iter().map(|lock| Variant { lock: lock.name, only: self.only.clone() });
        [Variant::plain(), pass].into_iter().chain(locks).collect()
    }
}

/// The fewest runs of each variant with which a verdict is possible. Checked before anything runs.
fn fewest_runs(flags: &SwapFlags) -> Result<u64, UsageError> {
    if !flags.is_asked_for() {
        return Ok(FEWEST);
    }
    let comparisons = (1 + flags.locks().len()) * (TIMES + flags.metric.len());
    let fewest = verdict::fewest_runs(comparisons).max(FEWEST);
    match flags.runs {
        Some(runs) if runs < fewest => Err(UsageError(format!(
            "--runs {runs}: too few for {comparisons} comparisons, none of which could show a difference; allowed: \
             {fewest} to 10000; raise --runs, or name fewer locks and metrics"
        ))),
        _ => Ok(fewest),
    }
}

fn metrics(flags: &SwapFlags) -> Result<Vec<Metric>, UsageError> {
    let names: Vec<&str> = flags.metric.iter().map(|pattern| pattern.name.as_str()).collect();
    if let Some(twice) = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name)) {
        return Err(UsageError(format!("--metric {}: two metrics have this name; name them with NAME=REGEX", twice.1)));
    }
    let higher = flags.higher_is_better.as_ref();
    if let Some(unknown) = higher.into_iter().flatten().find(|name| !names.contains(&name.as_str())) {
        return Err(UsageError(format!("--higher-is-better={unknown}: no --metric has this name")));
    }
    let is_higher = |name: &String| higher.is_some_and(|of| of.is_empty() || of.contains(name));
    let metric = |pattern: &Pattern| Metric { pattern: pattern.clone(), higher_is_better: is_higher(&pattern.name) };
    Ok(flags.metric.iter().map(metric).collect())
}
