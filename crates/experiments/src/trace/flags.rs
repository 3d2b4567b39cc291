//! Options of the user.

use super::words_to_watch::Request;
use clap::{Args, ValueEnum, ValueHint};
use harness::parse_duration;
use launch::ProgramFlags;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Trace a program's locks: which lock each thread waits for, where, and why
///
/// Runs PROGRAM with a preloaded library that intercepts the C library's lock functions, and reports for each wait the
/// lock, the place in the code, and whether the holder of the lock ran. Tracing ends when PROGRAM exits; after
/// --seconds, or at Ctrl-C, contend sends it SIGTERM. PROGRAM keeps its standard output: the report goes to standard
/// error. A format other than text, and --output -, go to standard output; if PROGRAM prints as well, name a file with
/// --output.
#[derive(Args, Clone, Debug)]
#[command(override_usage = USAGE)]
pub struct Flags {
    /// Time every hold; by default, one hold in 64 is timed. With --pid, record every futex call; by default, a process that
    /// makes very many is recorded in windows
    #[arg(long)]
    pub full: bool,

    /// Print the waits since the last report to standard error at this period [range: 100ms to 1min]
    #[arg(long, value_name = "TIME", value_parser = interval, allow_hyphen_values = true)]
    pub interval: Option<Duration>,

    /// Save a record each TIME, which covers that time alone, while the program goes on [range: 1s to 1 day]
    ///
    /// The records go to the archive. If --output names a directory, they also go there, in numbered files.
    #[arg(long, value_name = "TIME", value_parser = every, allow_hyphen_values = true, conflicts_with = "export")]
    pub every: Option<Duration>,

    /// Keep only the last N files of --every in the directory of --output [range: at least 1]
    #[arg(long, value_name = "N", requires = "every", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,

    /// Report a wait longer than this as a hang, with its chain of waiters and holders, while PROGRAM runs on. With
    /// --pid, the time is counted from the attachment. Deadlocks are reported after half a second
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration::span)]
    pub deadline: Duration,

    /// Print all tables and histograms after the diagnosis. The record and its HTML report always have them
    #[arg(long)]
    pub all: bool,

    #[command(flatten)]
    pub launched: ProgramFlags,

    /// Also export the waits: `perfetto` for ui.perfetto.dev, `folded` for flame graphs
    #[arg(long, value_names = ["FORMAT", "FILE"], num_args = 2)]
    pub export: Vec<OsString>,

    /// Also save what was seen, for `contend explain FILE`, which diagnoses it again on any machine
    #[arg(long, value_name = "FILE", conflicts_with = "every", value_hint = ValueHint::FilePath)]
    pub save: Option<PathBuf>,

    /// Attach to a running process and trace its futex calls until it exits, --seconds elapse, or Ctrl-C. Without root,
    /// or CAP_PERFMON and a readable tracefs, only the states of the threads of your own processes are sampled
    ///
    /// Several processes are separated by commas. A process that a service manager starts in the place of one that ended is
    /// traced as well.
    #[arg(long, visible_short_alias = 'p', value_name = "PID", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["program", "patience"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4_194_304), value_hint = ValueHint::Other)]
    pub pid: Vec<u32>,

    /// Attach to the processes of a control group, by its directory or its path in /proc/PID/cgroup
    #[arg(long, value_name = "PATH", conflicts_with_all = ["program", "patience", "pid"])]
    pub cgroup: Option<PathBuf>,

    /// Attach to the processes of a container, by its name (Docker, Podman, LXC) or its ID
    #[arg(long, value_name = "NAME|ID", conflicts_with_all = ["program", "patience", "pid", "cgroup"])]
    pub container: Option<String>,

    /// Watch a lock's word by hardware watchpoints, up to four words: acquisitions, hold times and spinning of any lock,
    /// also of one that makes no call. WORD is a variable's name, or an address (0x7f12)
    #[arg(long, value_name = "WORD")]
    pub word: Vec<String>,

    /// Limit the time that watching words takes from the program, in percent of one CPU; 100% watches without a pause
    /// [range: 0.1% to 100%]
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = percent, requires = "word")]
    pub word_budget: f64,
}

const USAGE: &str = "contend trace [OPTIONS] -- <PROGRAM> [ARGS]...
       contend trace [OPTIONS] --pid <PID>[,<PID>...]";

/// The amount of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Every wait, and one hold in 64.
    Sampled,
    /// Every wait and every hold.
    Full,
    /// The futex calls of a process that already ran.
    FutexCalls,
}

/// A format of `--export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    Perfetto,
    Folded,
}

impl Flags {
    /// Returns the words to watch.
    pub fn words(&self) -> Result<Request, harness::UsageError> {
        Request::of(&self.word, self.word_budget)
    }

    /// Returns the formats to export, each with its file.
    pub fn exports(&self) -> Result<Vec<(Form, PathBuf)>, harness::UsageError> {
        let pairs = self.export.chunks_exact(2);
        let form = |pair: &[OsString]| {
            let name = pair[0].to_string_lossy();
            let form = Form::from_str(&name, false).map_err(|_| {
                harness::UsageError(format!("--export {name}: unknown format; allowed: perfetto, folded"))
            })?;
            Ok((form, PathBuf::from(&pair[1])))
        };
        pairs.map(form).collect()
    }
}

const SHORTEST_EVERY: Duration = Duration::from_secs(1);

fn every(text: &str) -> Result<Duration, String> {
    match parse_duration::span_of_day(text)? {
        short if short < SHORTEST_EVERY => Err("must be at least 1s".into()),
        every => Ok(every),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().map_err(|_| "not a percentage, such as 2%")?;
    if (0.1..=100.0).contains(&number) { Ok(number / 100.0) } else { Err("must be from 0.1% to 100%".into()) }
}

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60);

fn interval(text: &str) -> Result<Duration, String> {
    match parse_duration::span(text)? {
        short if short < SHORTEST => Err("must be at least 100ms".into()),
        long if long > LONGEST => Err("must be at most 1min".into()),
        interval => Ok(interval),
    }
}
