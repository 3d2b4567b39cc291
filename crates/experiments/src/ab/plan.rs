//! The plan that comes of the flags: the sides, the surroundings of their runs, and when they end.

use super::flags::Flags;
use super::record::DisturbedRuns;
use super::revisions::Worktrees;
use super::sides::Side;
use harness::{Session, UsageError};
use launch::{Client, Limit, Metric, PATIENCE, Scene};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Everything that the measurement needs to know.
pub struct Plan {
    pub sides: Vec<Side>,
    pub metrics: Vec<Metric>,
    pub prepare: Option<String>,
    pub cleanup: Option<String>,
    pub client: Option<Client>,
    pub input: Option<PathBuf>,
    pub variables: Vec<(String, OsString)>,
    pub warmup: u64,
    /// The number of blocks, if the user counts them.
    pub runs: Option<u64>,
    /// The user's time budget.
    pub budget: Option<Duration>,
    pub least: f64,
    pub limits: Vec<Limit>,
    pub disturbed: DisturbedRuns,
    pub is_environment_random: bool,
    pub ignores_status: bool,
    pub same_output: bool,
    pub timeout: Option<Duration>,
    pub watch: bool,
    /// Removed when the plan is dropped.
    _worktrees: Option<Worktrees>,
}

/// The time that each side has, if the user sets neither a time nor a number of runs.
const OF_SIDE: Duration = Duration::from_secs(10);
/// The number of blocks for which the default budget has room.
const BLOCKS: f64 = 10.0;

impl Plan {
    /// Checks the flags, and builds the revisions.
    pub fn of(flags: &Flags, session: &Session) -> anyhow::Result<Self> {
        let metrics = flags.runs_of_each.metrics()?;
        if let Some(input) = &flags.input
            && let Err(error) = std::fs::File::open(input)
        {
            let why = blame::names::message(&error);
            return Err(UsageError(format!("--input {}: {why}", input.display())).into());
        }
        let builds = flags.builds.unwrap_or(1) as usize;
        let worktrees = match &flags.revisions[..] {
            [] => None,
            names => {
                // Wrong options are refused before a build takes its time.
                if names.len() < 2 || flags.commands.len() != 1 {
                    Side::all(flags, None)?;
                }
                let build = flags.build.as_deref();
                Some(Worktrees::of(names, build, builds, session.seed, &session.interruption)?)
            }
        };
        let sides = Side::all(flags, worktrees.as_ref())?;
        if flags.watch && sides.iter().any(Side::needs_shell) {
            return Err(UsageError("--watch: a command that a shell runs cannot be traced".into()).into());
        }
        Ok(Self {
            sides,
            metrics,
            prepare: flags.runs_of_each.prepare.clone(),
            cleanup: flags.runs_of_each.cleanup.clone(),
            client: flags.runs_of_each.client(flags.patience.unwrap_or(PATIENCE)),
            input: flags.input.clone(),
            variables: flags.env.clone(),
            warmup: flags.runs_of_each.warmup.unwrap_or(1),
            runs: flags.runs,
            budget: session.seconds,
            least: flags.least,
            limits: flags.fail_if.clone(),
            disturbed: flags.disturbed,
            is_environment_random: !flags.fixed_environment,
            ignores_status: flags.ignore_failure,
            same_output: flags.same_output,
            timeout: flags.timeout,
            watch: flags.watch,
            _worktrees: worktrees,
        })
    }

    /// Returns the surroundings of the runs of a side.
    pub fn scene<'a>(&'a self, side: &'a Side, build: usize) -> Scene<'a> {
        Scene {
            prepare: self.prepare.as_deref(),
            cleanup: self.cleanup.as_deref(),
            client: self.client.as_ref(),
            pause: None,
            input: self.input.as_deref(),
            directory: side.directory(build),
            ignores_status: self.ignores_status,
        }
    }

    /// Returns the time budget, by the time that a block takes; none where the runs are counted.
    pub fn budget(&self, block_s: f64) -> Option<Duration> {
        let default = || (OF_SIDE * self.sides.len() as u32).max(Duration::from_secs_f64(block_s * BLOCKS * 1.1));
        match (self.budget, self.runs) {
            (Some(budget), _) => Some(budget),
            (None, Some(_)) => None,
            (None, None) => Some(default()),
        }
    }
}
