//! The options of the comparison.

use super::record::DisturbedRuns;
use clap::Args;
use harness::{parse_count, parse_duration};
use launch::{Limit, RunFlags};
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Compare commands: run them in random order and show if one is faster
///
/// The first COMMAND is compared with each other one, by pairs of runs that follow each other. The comparison ends when
/// each difference is shown, or is shown to be smaller than --least, or when the time is over.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Commands, each quoted as one argument; {NAME} is replaced by a --parameter. Run without a shell, unless one of
    /// them uses its syntax (pipes, variables, patterns)
    #[arg(value_name = "COMMAND", group = "compared")]
    pub commands: Vec<String>,

    /// Run every command by `sh -c`
    #[arg(long)]
    pub shell: bool,

    /// Run the command once for each value of NAME, and for all combinations of several parameters. threads,size=1:10,2:20
    /// is a list of combinations
    #[arg(long, value_name = "NAME=V1,V2")]
    pub parameter: Vec<Parameter>,

    /// Build and run the only COMMAND at these revisions of the Git repository, each in its own worktree
    #[arg(long, value_name = "REV1,REV2", value_delimiter = ',', requires = "compared")]
    pub revisions: Vec<String>,

    /// Shell command that builds a revision, run in its worktree
    #[arg(long, value_name = "COMMAND", requires = "revisions")]
    pub build: Option<String>,

    /// Builds of each revision, which the runs alternate between; --build gets a different $CONTEND_BUILD_SEED for each,
    /// for example to shuffle the link order [default: 1] [range: 1 to 20]
    #[arg(long, value_name = "N", requires = "build", value_parser = parse_count::within::<u64>(1..=20),
          allow_hyphen_values = true)]
    pub builds: Option<u64>,

    #[command(flatten)]
    pub runs_of_each: RunFlags,

    /// Measured runs of each command, without early end [default: as the time budget allows] [range: 1 to 100000]
    #[arg(long, value_name = "N", value_parser = parse_count::within::<u64>(1..=100_000), allow_hyphen_values = true)]
    pub runs: Option<u64>,

    /// Smallest difference that matters: the comparison ends when all plausible differences are smaller [range: 0%
    /// to 100%]
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = share,
          allow_hyphen_values = true)]
    pub least: f64,

    /// Also run the first COMMAND as a third side, which must not differ from the first
    #[arg(long)]
    pub control: bool,

    /// Exit with status 3 if a command is shown to be worse than the first by more than LIMIT in time, memory or a
    /// --metric, for example slower:2%; with status 1 if --control differs
    #[arg(long, value_name = "LIMIT", value_delimiter = ',')]
    pub fail_if: Vec<Limit>,

    /// Treatment of runs during which other guests or programs took the CPUs or the core
    #[arg(long, value_name = "MODE", default_value = "use")]
    pub disturbed: DisturbedRuns,

    /// Trace one more run of each command, and compare the waits for locks
    #[arg(long)]
    pub watch: bool,

    /// Compare runs with a nonzero exit status; all commands must end with the same one
    #[arg(long)]
    pub ignore_failure: bool,

    /// Fail if the output of a run differs from that of the first run
    #[arg(long)]
    pub same_output: bool,

    /// Longest time of a run [default: ten times the longest run so far plus 10 s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,

    /// Time that the server of --client has to terminate after SIGTERM [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub patience: Option<Duration>,

    /// File that each run reads as its standard input [default: empty]
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,

    /// Directory in which the commands run; repeat the option to give each command its own
    #[arg(long, value_name = "DIR", conflicts_with = "revisions")]
    pub directory: Vec<PathBuf>,

    /// Environment variable of each run
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, OsString)>,

    /// Do not vary the size of the environment from run to run
    #[arg(long)]
    pub fixed_environment: bool,

    /// Also write the runs to FILE as JSON in the layout of hyperfine
    #[arg(long, value_name = "FILE")]
    pub export_hyperfine: Option<PathBuf>,
}

/// The value of `--parameter`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub names: Vec<String>,
    /// Each with one value for each name.
    pub values: Vec<Vec<String>>,
}

impl FromStr for Parameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "must have the form threads=1,2,4 or threads,size=1:10,2:20".to_owned();
        let (names, values) = text.split_once('=').ok_or_else(form)?;
        let names: Vec<String> = names.split(',').map(str::to_owned).collect();
        let is_name = |name: &String| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
        if !names.iter().all(is_name) || values.is_empty() {
            return Err(form());
        }
        let of = |value: &str| match names.len() {
            1 => vec![value.to_owned()],
            _ => value.split(':').map(str::to_owned).collect(),
        };
        let values: Vec<Vec<String>> = values.split(',').map(of).collect();
        match values.iter().find(|value| value.len() != names.len()) {
            Some(value) => Err(format!("{}: {} values for {} names", value.join(":"), value.len(), names.len())),
            None => Ok(Self { names, values }),
        }
    }
}

/// Parses a percentage such as `1%` into a share.
fn share(text: &str) -> Result<f64, String> {
    let form = || "must be a percentage such as 1%".to_owned();
    let percent: f64 = text.strip_suffix('%').ok_or_else(form)?.trim().parse().map_err(|_| form())?;
    if (0.0..=100.0).contains(&percent) { Ok(percent / 100.0) } else { Err("allowed: 0% to 100%".into()) }
}

fn variable(text: &str) -> Result<(String, OsString), String> {
    let named = text.split_once('=').filter(|(name, _)| !name.is_empty());
    named.map(|(name, value)| (name.to_owned(), value.into())).ok_or_else(|| "must have the form NAME=VALUE".into())
}
