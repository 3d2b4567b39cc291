//! The flags of the experiment, with the priority of a spinner as it is written on the command line.

use clap::{Args, ValueEnum};
use harness::{Format, SharedFlags, UsageError, parse_count, parse_duration};
use instruments::cpus::schedule::Schedule;
use std::fmt;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Measure the CPU time that is left over each second, next to /proc/stat
///
/// One thread on each CPU takes the time that no other thread uses, and counts it: its CPU time, and the work that it
/// did. The rest of the time is the load. The command runs until Ctrl-C (or q), or for --seconds; if a record is
/// requested (with --format or --output), it runs for 10 s.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Reporting period [range: 100ms to 1min]
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval, allow_hyphen_values = true)]
    pub interval: Duration,

    /// Display while measuring [default: graph on a terminal, otherwise lines]
    #[arg(long, value_enum, value_name = "VIEW")]
    pub view: Option<View>,

    /// Measure the CPU time that a thread of this priority would get, and the time that it would take from others:
    /// idle, batch, a nice value, fifo or rr; fifo:N and rr:N with N from 1 to 99
    #[arg(long, value_name = "PRIORITY", default_value = "idle", allow_hyphen_values = true)]
    pub priority: Priority,

    /// Number of threads on each CPU. With more than one, the cost of their alternation is measured: in 1998, two
    /// threads did 99.92 % of the work of one [range: 1 to 64]
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_count::within::<u16>(1..=64), allow_hyphen_values = true)]
    pub grinders: u16,

    /// Keep the values of the last period in FILE, for a collector of OpenMetrics
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
}

/// The display while measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// one line per period
    Lines,
    /// one JSON object per line, for each period and CPU
    Json,
    /// the load of the last minutes, scrolling
    Graph,
    /// the mean load over the last 1, 2, 4 … 32,768 seconds
    Bars,
}

impl View {
    /// Returns the name on the command line.
    fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Json => "json",
            Self::Graph => "graph",
            Self::Bars => "bars",
        }
    }
}

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60);

fn interval(text: &str) -> Result<Duration, String> {
    match parse_duration::span(text)? {
        short if short < SHORTEST => Err("must be at least 100ms, because /proc/stat counts in units of 10ms".into()),
        long if long > LONGEST => Err("must be at most 1min".into()),
        interval => Ok(interval),
    }
}

impl Flags {
    /// Returns the live view; `None` where stdout is for the record.
    pub fn live_view(&self, shared: &SharedFlags) -> Result<Option<View>, UsageError> {
        let elsewhere = shared.output.as_ref().is_some_and(|path| path.as_os_str() != "-");
        let record_on_stdout = shared.format != Format::Text && !elsewhere;
        let terminal = std::io::stdin().is_terminal() && terminal::Page::of_stdout().colour;
        match (self.view, record_on_stdout) {
            (Some(View::Json), true) => Err(UsageError(
                "--view json: standard output cannot carry both the lines and the record of --format; write the record to a file with \
                 --output FILE, or omit one of the two flags"
                    .into(),
            )),
            (Some(view), true) => Err(UsageError(format!(
                "--view {}: standard output carries the record of --format; write the record to a file with --output FILE, or \
                 omit --view",
                view.name()
            ))),
            (None, true) => Ok(None),
            (Some(view @ (View::Graph | View::Bars)), false) if !terminal => Err(UsageError(format!(
                "--view {}: needs a terminal on standard input and output, without NO_COLOR or TERM=dumb; \
                 --view lines works everywhere",
                view.name()
            ))),
            (None, false) if elsewhere => Ok(None),
            (Some(View::Json), false) => Ok(Some(View::Json)),
            (Some(view @ (View::Graph | View::Bars)), false) => Ok(Some(view)),
            (None, false) if terminal => Ok(Some(View::Graph)),
            (_, false) => Ok(Some(View::Lines)),
        }
    }
}

/// A priority: `idle`, `batch`, a nice value, `fifo`, `rr`, or the last two with a number: `fifo:10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority(pub Schedule);

impl Priority {
    /// Runs when no other thread wants the CPU.
    pub const IDLE: Self = Self(Schedule::Idle);

    /// Returns whether it is a real-time priority.
    pub fn is_realtime(self) -> bool {
        matches!(self.0, Schedule::Fifo { .. } | Schedule::RoundRobin { .. })
    }
}

const ALLOWED: &str =
    "allowed: idle, batch, a nice value from -20 to 19, fifo, rr, and fifo:N or rr:N with N from 1 to 99";

impl FromStr for Priority {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
        let realtime = || match level.map(str::parse) {
            None => Ok(1),
            Some(Ok(priority @ 1..=99)) => Ok(priority),
            Some(_) => Err(ALLOWED.to_owned()),
        };
        let schedule = match (name, level) {
            ("idle", None) => Schedule::Idle,
            ("batch", None) => Schedule::Batch { nice: 0 },
            ("fifo", _) => Schedule::Fifo { priority: realtime()? },
            ("rr", _) => Schedule::RoundRobin { priority: realtime()? },
            _ => match text.parse() {
                Ok(nice @ -20..=19) => Schedule::Fair { nice, slice: None },
                _ => return Err(ALLOWED.to_owned()),
            },
        };
        Ok(Self(schedule))
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Schedule::Fair { nice, .. } => write!(formatter, "nice {nice}"),
            Schedule::Batch { .. } => formatter.write_str("batch"),
            Schedule::Idle => formatter.write_str("idle"),
            Schedule::Fifo { priority } => write!(formatter, "fifo:{priority}"),
            Schedule::RoundRobin { priority } => write!(formatter, "rr:{priority}"),
            Schedule::Deadline { .. } => formatter.write_str("deadline"),
        }
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
    fn priorities_are_words_and_nice_values() {
        let is = |text: &str, schedule| assert_eq!(text.parse(), Ok(Priority(schedule)), "{text}");
        is("idle", Schedule::Idle);
        is("batch", Schedule::Batch { nice: 0 });
        is("-12", Schedule::Fair { nice: -12, slice: None });
        is("fifo", Schedule::Fifo { priority: 1 });
        is("rr:50", Schedule::RoundRobin { priority: 50 });
    }

    #[test]
    fn value_out_of_range_is_refused_with_the_range() {
        for text in ["20", "-21", "fifo:0", "fifo:100", "rr:", "idle:3", "deadline", "", "nice"] {
            assert!(text.parse::<Priority>().unwrap_err().contains("-20 to 19"), "{text}");
        }
    }
}
