//! The plan that comes of the flags, and what the record says of it.

use super::flags::{Flags, Form, Level};
use super::parts::Part;
use super::words_to_watch::Request;
use blame::Lost;
use harness::Session;
use harness::output::OutputFile;
use launch::{PATIENCE, Program};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Everything that the measurement needs to know.
pub struct Plan {
    pub program: Program,
    pub level: Level,
    /// The time after which the program gets SIGTERM.
    pub budget: Option<Duration>,
    pub interval: Option<Duration>,
    /// The period of the records, if there are several.
    pub every: Option<Duration>,
    pub deadline: Duration,
    /// The time that the program has to end after SIGTERM, if the user sets it.
    pub patience: Option<Duration>,
    pub exports: Vec<(Form, OutputFile)>,
    /// Whether the terminal prints all tables.
    pub all: bool,
    pub words: Request,
    /// Whether preempted holders are counted.
    pub preempted: bool,
}

/// The answer to whether locks are the program's problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Locks,
    /// Threads hardly wait for locks, and fight for cache lines as they run.
    Contention,
    NotLocks,
    Undecided,
}

/// The recording of single waits was lowered, since it cost too much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lowered {
    /// Since the program started.
    pub at_s: f64,
    /// The parts of the time in which single waits were recorded before and after.
    pub from_share: f64,
    pub to_share: f64,
    /// The estimated cost before: a part of the CPU time.
    pub cost_share: f64,
}

/// The parameters that the traced program decides.
pub const OUTCOMES: &[&str] = &[
    "attached_pid",
    "attached_pids",
    "exit_status",
    "exit_signal",
    "elapsed_s",
    "processes",
    "threads",
    "thread_time_s",
    "switches_share",
    "switches_left_out",
    "lost",
    "locks_left_out",
    "sites_left_out",
    "verdict",
    "verdict_reason",
    "hang",
    "samples",
    "lowered",
    "part",
    "confirmation",
];

/// The runs that tried to reach cycles, and how many cycles have which verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Confirmation {
    /// Runs that try to reach a cycle, at most.
    pub runs_most: u32,
    /// Cycles that are possible by the first run, of which `reached` were reached.
    pub possible: u32,
    pub reached: u32,
    pub excluded: u32,
    /// The commands before and after each run.
    pub prepare: Option<String>,
    pub cleanup: Option<String>,
}

/// The parameters of a record, and what is known of the program as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The SHA-256 of the program's file; `null` where it cannot be read, or has more than 128 MiB.
    #[serde(default)]
    pub program_sha256: Option<String>,
    pub level: Level,
    /// The number of the process that contend attached to.
    #[serde(default)]
    pub attached_pid: Option<u32>,
    /// The numbers of all processes, if contend attached to several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached_pids: Vec<u32>,
    /// Its exit status; `null` if a signal ended it.
    pub exit_status: Option<i32>,
    /// The signal that ended it.
    pub exit_signal: Option<i32>,
    pub elapsed_s: f64,
    pub deadline_s: f64,
    /// Processes and threads that used a lock.
    pub processes: u32,
    pub threads: u32,
    /// How long these threads lived, all together.
    pub thread_time_s: f64,
    /// Where switches of threads are known from; `null` if they are not.
    pub switches: Option<String>,
    /// The part of the time in which they were recorded: where there are very many, only now and then.
    #[serde(default)]
    pub switches_share: Option<f64>,
    /// Threads whose switches were never recorded, since they are switched too often, or are too many.
    #[serde(default)]
    pub switches_left_out: u32,
    /// Counts of the events that found no room, by kind; all are 0 where nothing was lost.
    pub lost: Lost,
    /// Locks and call sites without a row: those with the shortest total wait.
    pub locks_left_out: u64,
    pub sites_left_out: u64,
    /// Whether locks are the program's problem; `null` in older records.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The sentence that explains it.
    #[serde(default)]
    pub verdict_reason: Option<String>,
    /// The hang in which the program was at the end; absent if it was in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hang: Option<hang::Explanation>,
    /// How often the states of all threads were sampled.
    #[serde(default)]
    pub samples: u64,
    /// When the recording of single waits was lowered; counts and sums of waits are exact nevertheless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lowered: Vec<Lowered>,
    /// The place of the record in a longer trace; absent if it is of the whole trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Whether the terminal prints all tables.
    #[serde(default)]
    pub all: bool,
    /// The runs of `--confirm`; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
}

/// The period of snapshots of the diagnosis.
const SNAPSHOT_PERIOD: Duration = Duration::from_secs(1);

/// The times at which snapshots of the diagnosis are due.
pub struct Snapshots(Option<Instant>);

impl Snapshots {
    /// Returns the snapshots from now on: none without a full-screen interface that shows them.
    pub fn of(session: &Session) -> Self {
        Self(session.live.is_open().then(|| Instant::now() + SNAPSHOT_PERIOD))
    }

    /// Returns whether one is due. A late one does not make the next one early.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.0.is_some_and(|at| now >= at);
        if is_due {
            self.0 = Some(now + SNAPSHOT_PERIOD);
        }
        is_due
    }
}

/// The default time that a program has to end after Ctrl-C: its user waits for it.
const PATIENCE_WHEN_INTERRUPTED: Duration = Duration::from_secs(2);

/// Opens the files of the exports.
pub fn exports(flags: &Flags) -> anyhow::Result<Vec<(Form, OutputFile)>> {
    let open = |(form, path): (Form, std::path::PathBuf)| Ok((form, OutputFile::open("--export", &path)?));
    flags.exports()?.into_iter().map(open).collect()
}

/// Opens the file of `--save`.
pub fn save(flags: &Flags) -> anyhow::Result<Option<OutputFile>> {
    flags.save.as_deref().map(|path| OutputFile::open("--save", path)).transpose()
}

impl Plan {
    /// Returns the time that the program has to end after SIGTERM.
    pub fn patience(&self, session: &Session) -> Duration {
        let usual = if session.interruption.is_requested() { PATIENCE_WHEN_INTERRUPTED } else { PATIENCE };
        self.patience.unwrap_or(usual)
    }

    /// Checks the program and the files.
    pub fn of(flags: &Flags, session: &Session) -> anyhow::Result<Self> {
        let program = Program::find(&flags.launched.program)?;
        let exports = exports(flags)?;
        let level = if flags.full { Level::Full } else { Level::Sampled };
        let (budget, deadline, patience) = (session.seconds, flags.deadline, flags.launched.patience);
        let (interval, every, words) = (flags.interval, flags.every, flags.words()?);
        Ok(Self {
            program,
            level,
            budget,
            interval,
            every,
            deadline,
            patience,
            exports,
            all: flags.all,
            words,
            preempted: false,
        })
    }
}
