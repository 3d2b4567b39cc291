//! What the user may set, and the plan that comes of it.

use super::priority::Priority;
use clap::{Args, ValueEnum};
use harness::UsageError;
use harness::parse_duration;
use harness::{Format, Session, SharedFlags};
use instruments::cpus::{self, CpuSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

/// How much CPU a process would really get, each second, beside /proc/stat's answer
///
/// One thread on each CPU takes what nobody else wants and counts it: its CPU time, and the work it did in it. What it
/// did not get is the load. It runs until Ctrl-C (or q), or for --seconds; where a record is asked for (--format json or
/// csv, --output), for 10 s.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// How often to say it: from 100ms to 1min
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval, allow_hyphen_values = true)]
    interval: Duration,

    /// What to show meanwhile: a line for each interval, a JSON object for each CPU and interval, a scrolling graph, or the
    /// mean over the last 1, 2, 4 … 32,768 seconds [default: graph at a terminal, else lines]
    #[arg(long, value_enum, value_name = "VIEW")]
    view: Option<View>,

    /// Measure what a thread of this priority would get, and what it would take: idle, batch, a nice value, fifo or rr
    #[arg(long, value_name = "WHAT", default_value = "idle", allow_hyphen_values = true)]
    priority: Priority,

    /// Threads on each CPU; with more than one, what their taking turns costs: 1998 measured 99.92 % with two
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    grinders: u16,

    /// Keep the figures of the last interval in this file, for a collector of OpenMetrics
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
}

/// What is shown while it measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// A line for each interval
    Lines,
    /// A JSON object a line, for each interval and CPU
    Json,
    /// The load of the last minutes, scrolling
    Graph,
    /// The mean load over the last 1, 2, 4 … 32,768 seconds
    Bars,
}

/// Everything that the measurement needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// How long it measures; `None` is until it is told to stop.
    pub length: Option<Duration>,
    /// How often it reports.
    pub interval: Duration,
    /// At what priority the soakers run.
    pub priority: Priority,
    /// Soakers on each CPU.
    pub grinders: usize,
    /// The CPUs that are watched.
    pub cpus: Vec<usize>,
    /// The CPU that is left out because real-time threads must not have all.
    pub spared: Option<usize>,
    /// Whether the rows of the intervals are kept for the record.
    pub keep_intervals: bool,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    /// `None` is until it was told to stop.
    pub length_s: Option<f64>,
    pub interval_s: f64,
    /// What was asked for; a row says what was granted.
    pub priority: String,
    pub grinders: usize,
    pub cpus: Vec<usize>,
    /// The work whose count gives `grind_share`, in microseconds.
    pub grind_us: f64,
    /// Where the exact time of all tasks was read, if anywhere.
    pub exact_account: Option<String>,
}

const RECORD_LENGTH: Duration = Duration::from_secs(10);
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60);

fn interval(text: &str) -> Result<Duration, String> {
    match parse_duration::span(text)? {
        short if short < SHORTEST => Err("it must be at least 100ms: /proc/stat counts in jiffies of 10ms".into()),
        long if long > LONGEST => Err("it must be at most 1min".into()),
        interval => Ok(interval),
    }
}

impl Flags {
    /// What to show while it measures; `None` where stdout is for the record.
    ///
    /// # Errors
    /// JSON lines and a record want the same stdout.
    pub fn live_view(&self, shared: &SharedFlags) -> Result<Option<View>, UsageError> {
        let elsewhere = shared.output.as_ref().is_some_and(|path| path.as_os_str() != "-");
        let record_on_stdout = shared.format != Format::Text && !elsewhere;
        let terminal = std::io::stdout().is_terminal()
            && std::io::stdin().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        match (self.view, record_on_stdout) {
            (Some(View::Json), true) => Err(UsageError(
                "--view json: stdout cannot have lines and the record of --format; write the record elsewhere with \
                 --output FILE, or leave out one of the two"
                    .into(),
            )),
            (_, true) => Ok(None),
            (None, false) if elsewhere => Ok(None),
            (Some(View::Json), false) => Ok(Some(View::Json)),
            (Some(view), false) if terminal => Ok(Some(view)),
            (None, false) if terminal => Ok(Some(View::Graph)),
            (_, false) => Ok(Some(View::Lines)),
        }
    }
}

impl Plan {
    /// Checks the flags against the machine and fills in the rest. Where a record is wanted the run has an end, and the
    /// record has the rows of all intervals.
    ///
    /// # Errors
    /// Flags that contradict each other; a real-time priority on the only CPU.
    pub fn of(flags: &Flags, record_wanted: bool, session: &Session) -> Result<Self, UsageError> {
        let length = session.seconds.or(record_wanted.then_some(RECORD_LENGTH));
        if flags.priority.is_realtime() && flags.grinders > 1 {
            let (priority, grinders) = (flags.priority, flags.grinders);
            return Err(UsageError(format!(
                "--grinders {grinders} with --priority {priority}: real-time threads must sleep in between, so they do \
                 not share all of the time; use idle, batch or a nice value"
            )));
        }
        let (cpus, spared) = watched(flags.priority, &session.cpus)?;
        Ok(Self {
            length,
            interval: length.map_or(flags.interval, |length| flags.interval.min(length)),
            priority: flags.priority,
            grinders: flags.grinders.into(),
            cpus,
            spared,
            keep_intervals: record_wanted,
        })
    }

    /// The CPUs that are watched.
    pub fn cpu_set(&self) -> CpuSet {
        self.cpus.iter().copied().collect()
    }

    /// What the record says of the plan.
    pub fn parameters(&self, exact_account: Option<&str>) -> Parameters {
        Parameters {
            length_s: self.length.map(|length| length.as_secs_f64()),
            interval_s: self.interval.as_secs_f64(),
            priority: self.priority.to_string(),
            grinders: self.grinders,
            cpus: self.cpus.clone(),
            grind_us: super::measure::GRIND.as_nanos() as f64 / 1e3,
            exact_account: exact_account.map(str::to_owned),
        }
    }
}

/// The CPUs to watch, and the one that is spared: real-time threads must leave one of the machine's CPUs to others.
fn watched(priority: Priority, session: &CpuSet) -> Result<(Vec<usize>, Option<usize>), UsageError> {
    let cpus: Vec<usize> = session.iter().collect();
    let others_left = cpus::online().is_ok_and(|online| online.iter().any(|cpu| !session.contains(cpu)));
    if !priority.is_realtime() || others_left {
        return Ok((cpus, None));
    }
    match cpus.split_last() {
        Some((&spared, rest)) if !rest.is_empty() => Ok((rest.to_vec(), Some(spared))),
        _ => Err(UsageError(format!(
            "--priority {priority}: real-time threads must leave one CPU to others, and this machine has only one; use \
             idle, batch or a nice value"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_neither_too_short_nor_too_long() {
        assert_eq!(interval("1s"), Ok(Duration::from_secs(1)));
        assert!(interval("0").unwrap_err().contains("100ms"));
        assert!(interval("1ms").unwrap_err().contains("100ms"));
        assert!(interval("2min").unwrap_err().contains("1min"));
        assert!(interval("-1s").unwrap_err().contains("negative"));
    }

    #[test]
    fn realtime_threads_never_get_all_cpus() {
        let online = cpus::online().unwrap();
        let fifo: Priority = "fifo".parse().unwrap();
        match watched(fifo, &online) {
            Ok((cpus, spared)) => assert!(cpus.len() + 1 == online.len() && spared == online.last()),
            Err(misuse) => assert!(online.len() == 1 && misuse.0.contains("only one")),
        }
        assert_eq!(watched(Priority::IDLE, &online).unwrap().1, None);
    }
}
