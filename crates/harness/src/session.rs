//! The environment of every experiment: the flags that mean the same everywhere, the CPUs, and the signal flag.

use crate::exit::{Interruption, UsageError};
use crate::live::Live;
use crate::{parse_count, parse_duration};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, Command, ValueEnum, ValueHint};
use instruments::cpus::{self, CpuSet, ParseCpuSetError};
use instruments::environment::{Activity, Environment};
use instruments::warning::{self, CpusTakenAway, Warning};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The heading of the shared flags in a help.
pub const COMMON_OPTIONS: &str = "Common options";

/// Flags that mean the same for every experiment.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = COMMON_OPTIONS)]
pub struct SharedFlags {
    /// Time budget of the whole run: seconds (2, 0.5) or a value with a unit (90s, 2min, 8h). The run ends within two
    /// seconds of it; configurations without a measurement by then are omitted, with a warning
    #[arg(long, visible_alias = "duration", visible_short_alias = 'D', global = true, value_name = "TIME")]
    #[arg(value_parser = parse_duration::budget, allow_hyphen_values = true)]
    pub seconds: Option<Duration>,

    /// Run until Ctrl-C or SIGTERM, in constant memory; the run then counts as complete
    #[arg(long, global = true, conflicts_with = "seconds")]
    pub until_signal: bool,

    /// Seed for all random choices [default: derived from the time, stored in the record]
    #[arg(long, global = true, value_name = "N", value_parser = parse_count::count, allow_hyphen_values = true)]
    pub seed: Option<u64>,

    /// CPUs to use: 0, 0,2-3, or all [default: the affinity mask of this process]
    #[arg(long, visible_alias = "cpu", global = true, value_name = "LIST")]
    pub cpus: Option<CpuChoice>,

    /// Treatment of time in which an SMT sibling shares the core
    #[arg(long, global = true, value_name = "MODE", default_value = "both")]
    pub neighbour: Neighbour,

    /// Output format
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text", value_parser = format_parser(&[]))]
    pub format: Format,

    /// Write to FILE instead of standard output; a name that ends in .json, .csv or .html selects that format
    #[arg(long, short_alias = 'o', global = true, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Archive directory [default: $CONTEND_ARCHIVE, then contend/archive.git in the user's data directory]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub archive: Option<PathBuf>,

    /// Do not save the record in the archive
    #[arg(long, global = true)]
    pub no_keep: bool,

    /// Print no progress and no warnings (warnings stay in the record)
    #[arg(long, short_alias = 'q', global = true)]
    pub quiet: bool,

    /// Print the method of the experiment and its limits; measure nothing
    #[arg(long, global = true)]
    pub explain: bool,

    /// Write interim results to this file descriptor, a pipe, as one JSON object per line, for a program that displays
    /// them
    #[arg(long, global = true, value_name = "FD", require_equals = true, hide = true)]
    pub live_to: Option<i32>,
}

impl SharedFlags {
    /// Returns whether the record is requested, not only a view of it.
    pub fn wants_record(&self) -> bool {
        self.format != Format::Text || self.output.is_some()
    }

    /// Infers the format from the name of the file, unless `--format` was given.
    ///
    /// # Errors
    /// The two contradict each other.
    pub fn infer_format(&mut self, is_given: bool) -> Result<(), UsageError> {
        let Some(path) = self.output.as_deref().filter(|_| self.writes_a_file()) else { return Ok(()) };
        let ending = path.extension().map(|ending| ending.to_ascii_lowercase()).unwrap_or_default();
        let inferred = match ending.to_str() {
            Some("json") => Format::Json,
            Some("csv") => Format::Csv,
            Some("html" | "htm") => Format::Html,
            _ => return Ok(()),
        };
        if !is_given {
            self.format = inferred;
        } else if self.format != inferred && !matches!(self.format, Format::Own(_)) {
            return Err(UsageError(format!(
                "--output {}: the name contradicts --format; omit --format, or name another file",
                path.display()
            )));
        }
        Ok(())
    }

    /// Returns whether the record is written to a file, so that stdout is free for other output.
    pub fn writes_a_file(&self) -> bool {
        self.output.as_ref().is_some_and(|path| path.as_os_str() != "-")
    }
}

/// Whether the core is probed for an SMT sibling that shares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Neighbour {
    /// report results with the core exclusive, and with it shared
    Both,
    /// do not probe for siblings
    Ignore,
}

/// How a record is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
    Csv,
    /// Tables for a pull request.
    Markdown,
    /// A whole page, into a file.
    Html,
    /// A layout of the experiment, by its name.
    Own(String),
}

const FORMATS: [(&str, &str); 4] = [
    ("text", "tables and charts for a terminal"),
    ("json", "one JSON object"),
    ("csv", "a header, then one line per result"),
    ("markdown", "tables for a pull request"),
];

/// Returns the flag `--format` of an experiment that has additional layouts. Its help lists them, among its own flags.
pub fn format_argument(own: &[(&'static str, &'static str)]) -> Arg {
    let shared =
        SharedFlags::augment_args(Command::new("")).get_arguments().find(|one| one.get_id() == "format").cloned();
    shared
        .expect("the common flags define it")
        .value_parser(format_parser(own))
        .help_heading(None::<&str>)
        .display_order(None)
}

fn format_parser(own: &[(&'static str, &'static str)]) -> impl TypedValueParser<Value = Format> + use<> {
    let known = FORMATS.iter().chain(own).map(|(name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(known).map(|name| match name.as_str() {
        "text" => Format::Text,
        "json" => Format::Json,
        "csv" => Format::Csv,
        "markdown" => Format::Markdown,
        _ => Format::Own(name),
    })
}

/// The value of `--cpus`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuChoice {
    /// All CPUs that may be used.
    All,
    List(CpuSet),
}

impl FromStr for CpuChoice {
    type Err = ParseCpuSetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.eq_ignore_ascii_case("all") { Ok(Self::All) } else { text.parse().map(Self::List) }
    }
}

/// The length from which on a run prints a line a minute.
const LONG: Duration = Duration::from_secs(600);
/// A year: equivalent to no end.
const ENDLESS: Duration = Duration::from_secs(365 * 24 * 3600);

/// A run of one experiment.
#[derive(Clone)]
pub struct Session {
    pub seconds: Option<Duration>,
    pub seed: u64,
    /// The CPUs to measure on: never empty, all allowed.
    pub cpus: CpuSet,
    pub interruption: Interruption,
    pub environment: Environment,
    pub neighbour: Neighbour,
    /// The stream to a program that draws the measurement, if there is one.
    pub live: Live,
    /// Whether the run waits for a signal.
    until_signal: bool,
    says_minutes: bool,
    started: SystemTime,
    /// The begin of the run, or of its part.
    opened: Instant,
    /// The thread that opened the session, which is never pinned.
    thread: i32,
    /// The activity of the CPUs until the session was opened.
    activity: Option<Activity>,
    show_progress: bool,
}

impl Session {
    /// Checks the flags against the machine.
    ///
    /// # Errors
    /// The CPUs do not exist or are not allowed, or the system does not report which are.
    pub fn open(flags: &SharedFlags) -> anyhow::Result<Self> {
        let allowed = cpus::allowed()?;
        let cpus = match &flags.cpus {
            Some(CpuChoice::List(request)) => {
                cpus::resolve(request, &allowed).map_err(|error| UsageError(format!("--cpus: {error}")))?
            }
            None | Some(CpuChoice::All) => allowed,
        };
        let live = flags.live_to.map_or_else(|| Ok(Live::default()), Live::open)?;
        let environment = Environment::probe();
        // Threads and processes that are not pinned inherit this.
        cpus::restrict_current_thread(&cpus)?;
        let started = SystemTime::now();
        let from_time = started.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let seconds = flags.seconds.or(flags.until_signal.then_some(ENDLESS));
        Ok(Self {
            seconds,
            until_signal: flags.until_signal,
            says_minutes: !flags.quiet && seconds.is_some_and(|seconds| seconds >= LONG),
            // 53 bits: JSON readers that keep numbers as doubles keep it whole.
            seed: flags.seed.unwrap_or(from_time & ((1 << 53) - 1)),
            cpus,
            interruption: Interruption::catch()?,
            environment,
            neighbour: flags.neighbour,
            live,
            started,
            opened: Instant::now(),
            thread: rustix::thread::gettid().as_raw_pid(),
            activity: Activity::now().ok(),
            show_progress: !flags.quiet && std::io::stderr().is_terminal(),
        })
    }

    /// Returns the same run with a separate budget, for an experiment that is a part of it.
    pub fn within(&self, budget: Duration) -> Self {
        let opened = Instant::now();
        Self { seconds: Some(budget), until_signal: false, says_minutes: false, opened, ..self.clone() }
    }

    /// Returns the time at which what still goes on is left alone, if the user has set the time of the run: shortly
    /// after its end.
    pub fn last_moment(&self) -> Option<Instant> {
        const OVERTIME: Duration = Duration::from_millis(1_500);
        self.opened.checked_add(self.seconds?.checked_add(OVERTIME)?)
    }

    /// Returns whether the run is so long that it prints a line a minute, and that a repetition is short in comparison.
    pub fn is_long(&self) -> bool {
        self.seconds.is_some_and(|seconds| seconds >= LONG)
    }

    /// Returns whether the run prints a line a minute.
    pub fn says_minutes(&self) -> bool {
        self.says_minutes
    }

    /// Returns the planned duration; `None` for a run that a signal ends.
    pub fn planned(&self, budget: Duration) -> Option<Duration> {
        (!self.until_signal).then_some(budget)
    }

    /// Ends the run at its last moment, if it has one.
    ///
    /// # Errors
    /// The system refuses the timer.
    pub fn end_in_time(&self) -> std::io::Result<()> {
        self.last_moment().map_or(Ok(()), |last| self.interruption.request_at(last))
    }

    /// Returns whether it ended early: by a signal, unless it waits for one, or by the loss of CPUs.
    pub fn is_cut_short(&self) -> bool {
        let is_signal = self.interruption.is_requested() && !self.interruption.is_out_of_time();
        self.interruption.cpus_taken().is_some() || (is_signal && !self.until_signal)
    }

    /// Compares the CPUs that this process may use now with those of the run, and ends the run as a signal does if one
    /// of them is gone.
    ///
    /// Container managers change the cpuset of a running process.
    pub fn check_cpus(&self) -> ControlFlow<()> {
        if let Some(taken) = self.cpus_taken(&self.cpus) {
            self.interruption.end_without_cpus(taken);
        }
        self.interruption.flow()
    }

    /// Returns the CPUs of `used` that were taken away, if any: when the run ended because of it, or now. The affinity
    /// of the thread that opened the session shows it; the calling one may be pinned.
    pub fn cpus_taken(&self, used: &CpuSet) -> Option<CpusTakenAway> {
        if let Some(taken) = self.interruption.cpus_taken() {
            return Some(taken.clone());
        }
        let left = cpus::allowed_of(self.thread).ok()?;
        let lost: CpuSet = used.iter().filter(|&cpu| !left.contains(cpu)).collect();
        (!lost.is_empty()).then(|| CpusTakenAway { lost: lost.to_string(), left: left.to_string() })
    }

    /// Returns whether a user at a terminal sees the progress.
    pub fn shows_progress(&self) -> bool {
        self.show_progress
    }

    /// Returns the time since the session was opened.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed().unwrap_or_default()
    }

    /// Returns the time at which it was opened, in seconds since 1970.
    pub fn started_unix_s(&self) -> u64 {
        self.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
    }

    /// Returns warnings about other activity on these CPUs since it was opened.
    pub fn disturbances(&self, used: &CpuSet) -> Vec<Warning> {
        let now = Activity::now().ok();
        let meanwhile = self.activity.as_ref().zip(now).and_then(|(before, now)| now.since(before, used));
        meanwhile.iter().flat_map(warning::disturbances).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    fn flags(words: &[&str]) -> SharedFlags {
        let command = SharedFlags::augment_args(Command::new("contend"));
        SharedFlags::from_arg_matches(&command.get_matches_from([&["contend"], words].concat())).unwrap()
    }

    #[test]
    fn name_of_the_file_selects_the_format() {
        let inferred = |words: &[&str], is_given| {
            let mut flags = flags(words);
            flags.infer_format(is_given).map(|()| flags.format)
        };
        for (file, format) in [
            ("a.json", Format::Json),
            ("a.CSV", Format::Csv),
            ("a.html", Format::Html),
            ("a.txt", Format::Text),
            ("json", Format::Text),
            ("-", Format::Text),
        ] {
            assert_eq!(inferred(&["--output", file], false).unwrap(), format, "{file}");
        }
        assert_eq!(inferred(&["--format", "json", "-o", "a.json"], true).unwrap(), Format::Json);
        assert_eq!(inferred(&["--format", "json", "-o", "a.txt"], true).unwrap(), Format::Json);
        assert!(inferred(&["--format", "text", "-o", "a.json"], true).is_err());
        assert!(inferred(&["--format", "csv", "-o", "a.html"], true).is_err());
    }
}
