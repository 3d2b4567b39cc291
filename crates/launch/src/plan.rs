//! The plan of repeated runs of a program.

use crate::client::Client;
use crate::flags::{ComparisonFlags, Metric, PATIENCE, ProgramFlags};
use crate::process::{Failed, FinishedRun, Pause};
use crate::program::Program;
use crate::scene::{Scene, Variables};
use crate::traced::Traced;
use harness::turns::Rules;
use harness::{Interruption, Session, UsageError};
use instruments::statistics::bootstrap::ratio_of_medians;
use instruments::statistics::{Interval, Ratio};
use instruments::warning::{Warning, WarningKind};
use serde::Serialize;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// Everything that is the same in all variants of a comparison.
pub struct Plan {
    pub program: Program,
    pub metrics: Vec<Metric>,
    pub prepare: Option<String>,
    pub cleanup: Option<String>,
    /// The client that measures the program, if that is a server.
    pub client: Option<Client>,
    pub warmup: u64,
    pub at_least: u64,
    pub at_most: u64,
    /// The width of a ratio's interval that is narrow enough, unless the runs are counted.
    pub precision: Option<f64>,
    pub budget: Option<Duration>,
}

/// A median has an interval from this number of runs on.
pub const FEWEST_RUNS: u64 = 6;

/// Returns the verdict of too few runs, with the number of those that are missing: `not judged: 3 more runs`. Older
/// records do not have that number.
pub fn not_judged(missing_runs: Option<u64>) -> String {
    let missing = missing_runs.filter(|missing| *missing > 0);
    let missing =
        missing.map_or_else(String::new, |runs| format!(": {}", terminal::counted(runs as usize, "more run")));
    format!("not judged{missing}")
}

const MOST_RUNS: u64 = 30;
const PRECISION: f64 = 0.02;

impl Plan {
    /// Checks the flags. A variant has at least `fewest` runs, unless the user counts them.
    ///
    /// # Errors
    /// The program cannot be run with a preloaded library; a name that no metric has, or two have.
    pub fn of(
        program: &ProgramFlags,
        flags: &ComparisonFlags,
        fewest: u64,
        session: &Session,
    ) -> Result<Self, UsageError> {
        let patience = program.patience.unwrap_or(PATIENCE);
        Ok(Self {
            program: Program::find_dynamic(&program.program)?,
            metrics: flags.runs_of_each.metrics()?,
            prepare: flags.runs_of_each.prepare.clone(),
            cleanup: flags.runs_of_each.cleanup.clone(),
            client: flags.runs_of_each.client(patience),
            warmup: flags.runs_of_each.warmup.unwrap_or(1),
            at_least: flags.runs.unwrap_or(fewest),
            at_most: flags.runs.unwrap_or(if session.seconds.is_some() { u64::MAX } else { MOST_RUNS }),
            precision: if flags.runs.is_some() { None } else { Some(PRECISION) },
            budget: session.seconds,
        })
    }

    /// Returns the rules by which the runs of the variants are interleaved.
    pub fn rules(&self, began: Instant) -> Rules {
        let Self { budget, precision, at_least, at_most, .. } = *self;
        Rules { began, budget, precision, at_least, at_most }
    }

    /// Returns how long a run may take before one has ended: as long as the whole measurement, if its time is limited.
    pub fn longest_first(&self) -> Option<Duration> {
        self.budget
    }

    /// Returns the program and its arguments, for a record.
    pub fn words(&self) -> Vec<String> {
        self.program.words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// Runs the program once, for at most this long.
    ///
    /// # Errors
    /// The program cannot be started; a signal asks to end.
    pub fn run(
        &self,
        variables: &Variables,
        at_most: Option<Duration>,
        interruption: &Interruption,
    ) -> anyhow::Result<Result<FinishedRun, Failed>> {
        let mut command = self.program.command();
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        self.scene().run(command, at_most, interruption)
    }

    /// Runs the unmodified program, and stops it for a while.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_stopped(
        &self,
        pause: Pause,
        interruption: &Interruption,
    ) -> anyhow::Result<Result<FinishedRun, Failed>> {
        Scene { pause: Some(pause), ..self.scene() }.run(self.program.command(), None, interruption)
    }

    /// Runs the program once under `contend trace`, for at most this long.
    ///
    /// # Errors
    /// As [`Self::run`]; the record of the trace cannot be read.
    pub fn run_traced(
        &self,
        variables: &Variables,
        at_most: Option<Duration>,
        interruption: &Interruption,
    ) -> anyhow::Result<Result<Traced, Failed>> {
        Traced::run(&self.program, &self.scene(), variables, at_most, interruption)
    }

    /// Traces the unmodified program to rank its locks by the time that threads waited for them.
    ///
    /// # Errors
    /// As [`Self::run_traced`]; the run does not end well.
    pub fn rank_locks(&self, interruption: &Interruption) -> anyhow::Result<Traced> {
        self.run_traced(&Variables::new(), self.longest_first(), interruption)?.map_err(|Failed { how, output }| {
            anyhow::anyhow!("the traced run that ranks the locks {how}: {}", output.trim_end())
        })
    }

    /// Finds the metrics in the output of a run, or returns why one is not there.
    ///
    /// # Errors
    /// A metric is not in the output, or is not a number above 0.
    pub fn metrics_in(&self, output: &str) -> Result<Vec<f64>, String> {
        self.metrics.iter().map(|metric| metric.find(output)).collect()
    }

    fn scene(&self) -> Scene<'_> {
        let (prepare, cleanup) = (self.prepare.as_deref(), self.cleanup.as_deref());
        Scene { prepare, cleanup, client: self.client.as_ref(), ..Scene::default() }
    }
}

/// Returns the value of `LD_PRELOAD`: the library, then those that the user names.
pub fn preload(path: &str) -> OsString {
    let mut list = OsString::from(path);
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

/// Returns the ratio of the medians, with its interval; `None` with fewer than six runs of either.
///
/// The same samples give the same interval: what is random in it has the run's seed.
pub fn ratio(over: &[f64], under: &[f64], seed: u64) -> Option<Ratio> {
    ratio_of_medians(over, under, 0.95, &mut fastrand::Rng::with_seed(seed))
}

/// Returns how far the runs of the same differ: the largest over the smallest.
pub fn spread(samples: &[f64]) -> f64 {
    let (least, most) = samples.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
    if least > 0.0 { most / least } else { 1.0 }
}

/// Returns whether every plausible ratio differs from 1 by less than the least effect.
pub fn is_within(ratio: Interval, least: f64) -> bool {
    ratio.low > 1.0 / (1.0 + least) && ratio.high < 1.0 + least
}

/// Plain runs whose times differ by a larger ratio are unsteady.
const STEADY: f64 = 1.5;

/// Warns if the times of the plain runs differ much.
pub fn unsteady(plain: &[f64]) -> Option<Warning> {
    let spread = spread(plain);
    (spread > STEADY).then(|| UnsteadyProgram { spread }.into())
}

/// The program's own runs differ much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnsteadyProgram {
    /// The longest plain run over the shortest.
    pub spread: f64,
}

impl WarningKind for UnsteadyProgram {
    const CODE: &'static str = "unsteady_program";

    fn message(&self) -> String {
        format!("the longest run of the unmodified program took {:.1} times as long as the shortest", self.spread)
    }

    fn remedy(&self) -> &'static str {
        "give it a fixed amount of work, reset its state with --prepare, or raise --runs: this variation hides the \
         effect of locks"
    }
}
