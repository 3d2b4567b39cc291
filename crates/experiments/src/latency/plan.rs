//! The cells made from the flags, and their description in a record.

use super::flags::{Flags, Placement};
use harness::StoryPart;
use harness::{EvidenceChoice, Session, UsageError};
use instruments::cpus::CpuSet;
use instruments::environment::Cpu;
use record::distinct;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use terminal::counted;

/// A configuration that is compared: one combination of lock, threads and competitors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellPlan {
    /// The lock's name.
    pub lock: String,
    /// The number of threads that contend for it.
    pub threads: usize,
    /// The number of threads that only compete for the CPU.
    pub competitors: usize,
}

impl CellPlan {
    /// Returns everything but the lock, in words.
    pub fn conditions(&self) -> String {
        conditions(self.threads, self.competitors)
    }
}

impl fmt::Display for CellPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {}", self.lock, self.conditions())
    }
}

/// Returns the conditions of a configuration, as the plan, the progress and every view name them: `2 threads, 1
/// competitor`: the threads that contend for the lock, and those that only compete for the CPU.
pub fn conditions(threads: usize, competitors: usize) -> String {
    match competitors {
        0 => counted(threads, "thread"),
        number => format!("{}, {}", counted(threads, "thread"), counted(number, "competitor")),
    }
}

/// The input of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The cells.
    pub cells: Vec<CellPlan>,
    /// The hold time of the lock, in nanoseconds.
    pub hold_ns: f64,
    /// The requested placement.
    pub placement: Placement,
    /// The CPUs that threads are distributed over, in order.
    pub cpus: Vec<usize>,
    /// The time for all cells together.
    pub budget: Duration,
    /// The relative width at which an interval is narrow enough.
    pub precision: f64,
    /// Whether causes are recorded.
    pub evidence: EvidenceChoice,
    /// Whether all histograms are drawn as text.
    pub histogram: bool,
    /// The limit; the first wait that is longer ends the measurement.
    pub stop_above: Option<Duration>,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    /// The locks, in the requested order.
    pub locks: Vec<String>,
    /// The numbers of threads.
    pub threads: Vec<usize>,
    /// The numbers of competitors.
    pub competitors: Vec<usize>,
    /// The hold time of the lock, in microseconds.
    pub hold_us: f64,
    /// The placement: `one-cpu`, `one-core`, `spread` or a list.
    pub placement: String,
    /// The CPUs that threads are distributed over, in order.
    pub cpus: Vec<usize>,
    /// The time budget for all cells together, in seconds.
    pub budget_s: f64,
    /// The relative width at which an interval is narrow enough.
    pub precision_share: f64,
    pub evidence: EvidenceChoice,
    /// Whether all histograms are drawn as text, however many there are.
    #[serde(default)]
    pub histogram: bool,
    /// The user-supplied locks, each with the SHA-256 of its shared object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub object_sha256: BTreeMap<String, String>,
    /// The time of a lock and an unlock of a shared object that do nothing: two calls through pointers, which the
    /// built-in locks avoid.
    ///
    /// Only where one was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_calls_ns: Option<f64>,
    /// The limit of waits that would have ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_above_us: Option<f64>,
    /// The wait that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedWait>,
    /// The order of the repetitions of the cells, round by round; cells are numbered lock by lock, then by threads,
    /// then by competitors; the last is the one without a lock that gives the accuracy of the others.
    pub order: Vec<Vec<usize>>,
}

/// The default time of a cell: in 1998 each test ran for about two seconds.
const DEFAULT_CELL: Duration = Duration::from_secs(2);

impl Plan {
    /// Checks the flags against the machine and fills in the defaults.
    ///
    /// # Errors
    /// A CPU in the placement does not exist or is not allowed; or a shared object is not a lock.
    pub fn of(flags: &Flags, session: &Session) -> Result<Self, UsageError> {
        let mut cells = Vec::new();
        let chosen = locks::chosen(&flags.lock, false).map_err(|error| UsageError(format!("--lock {error}")))?;
        for lock in chosen.into_iter().map(|entry| entry.name) {
            for &threads in &flags.threads {
                for &competitors in &flags.competitors {
                    let cell =
                        CellPlan { lock: lock.to_owned(), threads: threads.into(), competitors: competitors.into() };
                    if !cells.contains(&cell) {
                        cells.push(cell);
                    }
                }
            }
        }
        Ok(Self {
            hold_ns: flags.hold.as_nanos() as f64,
            placement: flags.placement.clone(),
            cpus: dealt_cpus(&flags.placement, &session.cpus, &session.environment.cpu)?,
            budget: session.seconds.unwrap_or(DEFAULT_CELL * cells.len() as u32),
            precision: flags.precision,
            evidence: flags.evidence,
            histogram: flags.histogram,
            stop_above: flags.stop_above,
            cells,
        })
    }

    /// Returns the number of threads that share a CPU in the largest cell.
    pub fn most_on_a_cpu(&self) -> usize {
        let most = self.cells.iter().map(|cell| cell.threads + cell.competitors).max().unwrap_or(1);
        most.div_ceil(self.cpus.len())
    }

    /// Returns the CPUs that are used.
    pub fn cpu_set(&self) -> CpuSet {
        self.cpus.iter().copied().collect()
    }

    /// Returns the description for the record.
    pub fn parameters(&self, order: Vec<Vec<usize>>, object_calls_ns: Option<f64>) -> Parameters {
        Parameters {
            histogram: self.histogram,
            object_sha256: locks::hashes(self.cells.iter().map(|cell| cell.lock.as_str())),
            object_calls_ns,
            stop_above_us: self.stop_above.map(|limit| limit.as_nanos() as f64 / 1e3),
            stopped: None,
            locks: distinct(&self.cells, |cell| cell.lock.clone()),
            threads: distinct(&self.cells, |cell| cell.threads),
            competitors: distinct(&self.cells, |cell| cell.competitors),
            hold_us: self.hold_ns / 1e3,
            placement: self.placement.to_string(),
            cpus: self.cpus.clone(),
            budget_s: self.budget.as_secs_f64(),
            precision_share: self.precision,
            evidence: self.evidence,
            order,
        }
    }
}

fn dealt_cpus(placement: &Placement, session: &CpuSet, cpu: &Cpu) -> Result<Vec<usize>, UsageError> {
    Ok(match placement {
        Placement::OneCpu => session.iter().take(1).collect(),
        Placement::OneCore => one_core(session, cpu)?,
        Placement::Spread => cpu.spread(session),
        Placement::List(list) => instruments::cpus::resolve(list, session)
            .map_err(|error| UsageError(format!("--placement: {error}")))?
            .iter()
            .collect(),
    })
}

fn one_core(session: &CpuSet, cpu: &Cpu) -> Result<Vec<usize>, UsageError> {
    let core = cpu.first_core(session);
    match core[..] {
        [first] => Err(UsageError(format!(
            "--placement one-core: no other CPU of {session} is known to share the core of CPU {first}; \
             `contend core` measures it"
        ))),
        _ => Ok(core),
    }
}

/// The first wait that was longer than the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoppedWait {
    pub lock: String,
    /// The number of threads that contended for the lock, and of those that only competed for the CPU.
    pub threads: usize,
    pub competitors: usize,
    /// The index of the waiting thread, from 0, and its CPU.
    pub thread: usize,
    pub cpu: usize,
    /// The time since the measurement began.
    pub start_s: f64,
    pub wait_us: f64,
    /// The main cause, as that of a spike, and its time.
    pub cause: String,
    pub cause_us: f64,
    /// The threads that held the lock during the wait, the oldest first; only the longest holds if there are many.
    pub holders: Vec<Holder>,
    /// The kernel trace of the CPUs of the waiting thread and of the threads that held the lock.
    pub stories: Vec<CpuStory>,
}

/// Another thread that had the lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holder {
    pub thread: usize,
    pub cpu: usize,
    /// The time since the wait began; negative before it.
    pub from_us: f64,
    pub length_us: f64,
}

/// The tasks that had a CPU around the wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuStory {
    pub cpu: usize,
    pub story: Vec<StoryPart>,
}
