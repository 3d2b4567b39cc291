//! `contend top`: the diagnosis of `contend trace` while the program runs.

use clap::{Args, ValueHint};
use harness::{Outcome, SharedFlags, UsageError};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Show the lock waits of a program live: its time, its locks, the story of a wait
///
/// Traces the program as `contend trace` does, and shows its diagnosis in a full screen that is refreshed every second:
/// the parts of the thread time, the verdict, and the locks, sorted by the waits of the last second. Enter shows the
/// story of a lock: the waiters, the holders, the cause, the call path. q stops the trace, saves the record and prints
/// the diagnosis. If the program ends, its last state stays on the screen until q. The program's output is printed at
/// the end, and its input is empty.
#[derive(Args, Clone, Debug)]
#[command(override_usage = USAGE)]
pub struct Flags {
    /// Program to run, and its arguments
    #[arg(trailing_var_arg = true, value_name = "PROGRAM", num_args = 1..)]
    #[arg(required_unless_present_any = ["pid", "cgroup", "container"])]
    pub program: Vec<OsString>,

    /// Attach to a running process, or to several, as `contend trace --pid` does
    #[arg(short, long, value_name = "PID", value_delimiter = ',', conflicts_with = "program")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4_194_304), value_hint = ValueHint::Other)]
    pub pid: Vec<u32>,

    /// Attach to the processes of a control group, by its directory or its path in /proc/PID/cgroup
    #[arg(long, value_name = "PATH", conflicts_with_all = ["program", "pid"])]
    pub cgroup: Option<PathBuf>,

    /// Attach to the processes of a container, by its name (Docker, Podman, LXC) or its ID
    #[arg(long, value_name = "NAME|ID", conflicts_with_all = ["program", "pid", "cgroup"])]
    pub container: Option<String>,
}

const USAGE: &str = "contend top [OPTIONS] [--] <PROGRAM> [ARGS]...
       contend top [OPTIONS] --pid <PID>[,<PID>...]";

/// Shows the diagnosis until the user leaves, and then prints it.
///
/// # Errors
/// There is no terminal, or the trace cannot be run.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    screen::top(words(flags, shared)?)
}

/// Returns the command line that traces the program.
fn words(flags: &Flags, shared: &SharedFlags) -> Result<Vec<String>, UsageError> {
    let mut words = vec!["trace".to_owned()];
    words.extend(shared.seconds.iter().flat_map(|time| ["--seconds".to_owned(), format!("{}s", time.as_secs_f64())]));
    if let Some(path) = &shared.archive {
        words.extend(["--archive".to_owned(), utf8(path.as_os_str())?]);
    }
    words.extend(shared.no_keep.then(|| "--no-keep".to_owned()));
    if !flags.pid.is_empty() {
        let pids: Vec<String> = flags.pid.iter().map(u32::to_string).collect();
        words.extend(["--pid".to_owned(), pids.join(",")]);
    }
    if let Some(path) = &flags.cgroup {
        words.extend(["--cgroup".to_owned(), utf8(path.as_os_str())?]);
    }
    words.extend(flags.container.iter().flat_map(|name| ["--container".to_owned(), name.clone()]));
    if !flags.program.is_empty() {
        words.push("--".to_owned());
        let program: Result<Vec<String>, UsageError> = flags.program.iter().map(|word| utf8(word)).collect();
        words.extend(program?);
    }
    Ok(words)
}

fn utf8(word: &OsStr) -> Result<String, UsageError> {
    let text = word.to_str().map(str::to_owned);
    text.ok_or_else(|| UsageError(format!("{}: not UTF-8; use `contend trace`", word.display())))
}
