//! What every experiment is given: the flags that mean the same everywhere, the CPUs, and the signal flag.

use crate::interruption::Interruption;
use crate::progress::Progress;
use crate::quantities;
use crate::record::{Record, SCHEMA, Setting};
use clap::{Args, ValueEnum, ValueHint};
use instruments::cpus::{self, CpuSet};
use instruments::environment::{Activity, Environment};
use instruments::warning::{self, Warning};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Flags that every experiment has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub struct SharedFlags {
    /// Time budget of the whole run, in seconds (2, 0.5) or with a unit (90s, 2min); every cell has one turn at least
    #[arg(long, global = true, value_name = "TIME", value_parser = quantities::budget, allow_hyphen_values = true)]
    pub seconds: Option<Duration>,

    /// Seed of every random choice [default: from the time; the record has it]
    #[arg(long, global = true, value_name = "N")]
    pub seed: Option<u64>,

    /// CPUs to use, such as 0 or 0,2-3 [default: all that this process may run on]
    #[arg(long, global = true, value_name = "LIST")]
    pub cpus: Option<CpuSet>,

    /// What to print: tables and pictures for people, one JSON object, or rows
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    pub format: Format,

    /// Write to this file instead of printing
    #[arg(long, global = true, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Keep the record in this archive [default: $CONTEND_ARCHIVE, then contend/archive.git in the user's data directory]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub archive: Option<PathBuf>,

    /// Do not keep the record
    #[arg(long, global = true)]
    pub no_keep: bool,

    /// No progress and no warnings on stderr (they stay in the record)
    #[arg(long, global = true)]
    pub quiet: bool,

    /// Print how this experiment measures and what it cannot tell, and measure nothing
    #[arg(long, global = true)]
    pub explain: bool,
}

impl SharedFlags {
    /// Whether the record is asked for, not only a view of it.
    pub fn wants_record(&self) -> bool {
        self.format != Format::Text || self.output.is_some()
    }

    /// Whether the record goes to a file, and leaves stdout to others.
    pub fn writes_a_file(&self) -> bool {
        self.output.as_ref().is_some_and(|path| path.as_os_str() != "-")
    }
}

/// How a record is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables and pictures for a terminal
    Text,
    /// One JSON object
    Json,
    /// A line for each result, with a header
    Csv,
    /// The table of 2002, column by column (throughput)
    Ulockflex,
}

/// A run of one experiment.
#[derive(Clone)]
pub struct Session {
    pub seconds: Option<Duration>,
    pub seed: u64,
    /// The CPUs to measure on: never empty, all allowed.
    pub cpus: CpuSet,
    pub interruption: Interruption,
    pub environment: Environment,
    started: SystemTime,
    /// What the CPUs had done by then.
    activity: Option<Activity>,
    show_progress: bool,
}

impl Session {
    /// Checks the flags against the machine.
    ///
    /// # Errors
    /// CPUs that do not exist or are not allowed; a system that does not say which are.
    pub fn open(flags: &SharedFlags) -> anyhow::Result<Self> {
        let allowed = cpus::allowed()?;
        let cpus = match &flags.cpus {
            Some(request) => {
                cpus::resolve(request, &allowed).map_err(|error| crate::cli::Misuse(format!("--cpus: {error}")))?
            }
            None => allowed,
        };
        let environment = Environment::probe();
        // Threads and processes that are not pinned inherit this.
        cpus::restrict_current_thread(&cpus)?;
        let started = SystemTime::now();
        let from_time = started.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        Ok(Self {
            seconds: flags.seconds,
            // 53 bits: JSON readers that keep numbers as doubles keep it whole.
            seed: flags.seed.unwrap_or(from_time & ((1 << 53) - 1)),
            cpus,
            interruption: Interruption::catch()?,
            environment,
            started,
            activity: Activity::now().ok(),
            show_progress: !flags.quiet && std::io::stderr().is_terminal(),
        })
    }

    /// The same run with a budget of its own, for an experiment that is a part of it.
    pub fn within(&self, budget: Duration) -> Self {
        Self { seconds: Some(budget), ..self.clone() }
    }

    /// A progress bar over `budget`, visible only to a person at a terminal.
    pub fn progress(&self, budget: Duration) -> Progress {
        Progress::over(budget, self.show_progress)
    }

    /// A record of what this session measured on the CPUs it `used`, in a planned time. To the measurement's own warnings it adds those that
    /// the environment gives and those of what else happened on the CPUs meanwhile.
    pub fn record<P, R>(
        &self,
        experiment: &str,
        used: &CpuSet,
        planned: Duration,
        parameters: P,
        results: Vec<R>,
        seen: Vec<Warning>,
    ) -> Record<P, R> {
        let mut warnings = warning::standing(&self.environment, used);
        let now = Activity::now().ok();
        let meanwhile = self.activity.as_ref().zip(now).and_then(|(before, now)| now.since(before, used));
        warnings.extend(meanwhile.iter().flat_map(warning::disturbances));
        warnings.extend(seen);
        if self.interruption.asked() {
            let measured_s = self.started.elapsed().unwrap_or_default().as_secs_f64();
            warnings.push(Warning::Interrupted { measured_s, planned_s: planned.as_secs_f64() });
        }
        self.record_computed(experiment, parameters, results, warnings)
    }

    /// A record of what was computed, not measured: what the machine did meanwhile is no reason for a warning.
    pub fn record_computed<P, R>(
        &self,
        experiment: &str,
        parameters: P,
        results: Vec<R>,
        warnings: Vec<Warning>,
    ) -> Record<P, R> {
        Record {
            schema: SCHEMA.to_owned(),
            experiment: experiment.to_owned(),
            environment: Setting {
                contend: env!("CARGO_PKG_VERSION").to_owned(),
                command_line: std::env::args().skip(1).collect(),
                seed: self.seed,
                started_unix_s: self.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
                interrupted: self.interruption.asked(),
                machine: self.environment.clone(),
            },
            parameters,
            results,
            warnings,
        }
    }
}
