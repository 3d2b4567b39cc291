//! What the user may set.

use super::swap::flags::SwapFlags;
use super::what_if::flags::WhatIfFlags;
use clap::{Args, ValueEnum};
use harness::parse_duration;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The locks of any program, watched: who waits for which, where in the code, and whether the holder ran meanwhile
///
/// Runs the program with a library that stands before the C library's locks. It ends when the program does, and asks it
/// to end after --seconds, or at Ctrl-C. The program's output is its own: write the record elsewhere with --output.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Time every hold, not one in 64
    #[arg(long)]
    pub full: bool,

    /// Say on stderr, this often, what was waited for since the last time: from 100ms to 1min
    #[arg(long, value_name = "TIME", value_parser = interval, allow_hyphen_values = true)]
    pub interval: Option<Duration>,

    /// A wait that is longer than this is a hang: who waits for whom is said at once, and the program goes on; threads
    /// that wait for each other are named after half a second
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = deadline)]
    pub deadline: Duration,

    /// How long the program, or the server of --client, has to end once it was asked to [default: 10s, at Ctrl-C 2s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub patience: Option<Duration>,

    /// Write what was seen as well for another program: `perfetto FILE` for ui.perfetto.dev, `folded FILE` for flame
    /// graphs
    #[arg(long, value_names = ["FORM", "FILE"], num_args = 2)]
    pub export: Vec<OsString>,

    /// Watch the futex calls of a process that already runs, until it ends, after --seconds, or at Ctrl-C; needs root,
    /// or CAP_PERFMON and a tracefs that may be read
    #[arg(long, value_name = "PID")]
    #[arg(conflicts_with_all = ["program", "full", "export", "deadline", "patience", "swap", "what_if"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    pub pid: Option<u32>,

    #[command(flatten)]
    pub what_if: WhatIfFlags,

    #[command(flatten)]
    pub swap: SwapFlags,

    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM", num_args = 1..)]
    pub program: Vec<OsString>,
}

/// Unless the user says it.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How much is recorded.
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

/// What can be written for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    Perfetto,
    Folded,
}

impl Flags {
    /// What is to be exported, and where to.
    ///
    /// # Errors
    /// A form that there is not.
    pub fn exports(&self) -> Result<Vec<(Form, PathBuf)>, harness::UsageError> {
        let pairs = self.export.chunks_exact(2);
        let form = |pair: &[OsString]| {
            let name = pair[0].to_string_lossy();
            let form = Form::from_str(&name, false).map_err(|_| {
                harness::UsageError(format!("--export {name}: there is no such form; there are perfetto and folded"))
            })?;
            Ok((form, PathBuf::from(&pair[1])))
        };
        pairs.map(form).collect()
    }
}

fn deadline(text: &str) -> Result<Duration, String> {
    parse_duration::span(text)
}

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60);

fn interval(text: &str) -> Result<Duration, String> {
    match parse_duration::span(text)? {
        short if short < SHORTEST => Err("it must be at least 100ms".into()),
        long if long > LONGEST => Err("it must be at most 1min".into()),
        interval => Ok(interval),
    }
}
