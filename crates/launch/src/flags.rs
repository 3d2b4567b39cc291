//! Flags of the experiments that run a program.

use crate::client::Client;
use crate::metric::{Metric, Pattern};
use clap::Args;
use harness::{UsageError, parse_count, parse_duration};
use std::ffi::OsString;
use std::time::Duration;

/// The program.
#[derive(Args, Clone, Debug)]
pub struct ProgramFlags {
    /// Program to run, and its arguments
    #[arg(trailing_var_arg = true, value_name = "PROGRAM", num_args = 1..)]
    pub program: Vec<OsString>,

    /// Time that PROGRAM, or the server of --client, has to terminate after SIGTERM [default: 10s; 2s after Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub patience: Option<Duration>,
}

/// The default of `--patience`.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The surroundings of each run, and the numbers in its output. They need a flag of the group `compared`, which names what
/// is compared.
#[derive(Args, Clone, Debug)]
pub struct RunFlags {
    /// Also compare a number in the program's output: the first capture group, or the whole match. Name it with
    /// tps=REGEX
    #[arg(long, value_name = "REGEX", requires = "compared")]
    pub metric: Vec<Pattern>,

    /// Higher values are better for the named metrics [default: all]
    #[arg(long, value_name = "NAME", requires = "metric", num_args = 0.., require_equals = true, value_delimiter = ',')]
    pub higher_is_better: Option<Vec<String>>,

    /// Shell command to run before each run
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub prepare: Option<String>,

    /// Shell command to run after each run
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub cleanup: Option<String>,

    /// PROGRAM is a server, and COMMAND its client, a shell command: COMMAND starts once the server listens, and its
    /// end ends the run; its run time is the wall time, and --metric searches its output
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub client: Option<String>,

    /// TCP port of the server, passed to the client as $PORT [default: the lowest port that the server opens first]
    #[arg(long, value_name = "PORT", requires = "client", value_parser = clap::value_parser!(u16).range(1..),
          allow_hyphen_values = true)]
    pub port: Option<u16>,

    /// Warm-up runs of each variant [range: 0 to 1000]
    #[arg(long, value_name = "N", requires = "compared", value_parser = parse_count::within::<u64>(0..=1000),
          allow_hyphen_values = true)]
    pub warmup: Option<u64>,
}

/// The runs of a comparison of variants of one program.
#[derive(Args, Clone, Debug)]
pub struct ComparisonFlags {
    #[command(flatten)]
    pub runs_of_each: RunFlags,

    /// Measured runs of each variant; with 24 comparisons or more (locks and pass, times metrics), at least 7 [default: 6
    /// to 30, until the confidence interval of the ratio is narrower than 2 %] [range: 6 to 10000]
    #[arg(long, value_name = "N", requires = "compared", value_parser = parse_count::within::<u64>(6..=10_000),
          allow_hyphen_values = true)]
    pub runs: Option<u64>,
}

impl RunFlags {
    /// Returns the numbers that are compared.
    ///
    /// # Errors
    /// Two have one name; a name that none has.
    pub fn metrics(&self) -> Result<Vec<Metric>, UsageError> {
        let names: Vec<&str> = self.metric.iter().map(|pattern| pattern.name.as_str()).collect();
        if let Some(twice) = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name)) {
            return Err(UsageError(format!(
                "--metric {}: two metrics have this name; name them with NAME=REGEX",
                twice.1
            )));
        }
        let higher = self.higher_is_better.as_ref();
        if let Some(unknown) = higher.into_iter().flatten().find(|name| !names.contains(&name.as_str())) {
            return Err(UsageError(format!("--higher-is-better={unknown}: no --metric has this name")));
        }
        let is_higher = |name: &String| higher.is_some_and(|of| of.is_empty() || of.contains(name));
        let metric =
            |pattern: &Pattern| Metric { pattern: pattern.clone(), higher_is_better: is_higher(&pattern.name) };
        Ok(self.metric.iter().map(metric).collect())
    }

    /// Returns the client of a server, which has `patience` to end.
    pub fn client(&self, patience: Duration) -> Option<Client> {
        self.client.clone().map(|command| Client { command, port: self.port, patience })
    }
}

/// A program, and its runs in a comparison.
#[derive(Args, Clone, Debug)]
pub struct LaunchFlags {
    #[command(flatten)]
    pub program: ProgramFlags,
    #[command(flatten)]
    pub comparison: ComparisonFlags,
}
