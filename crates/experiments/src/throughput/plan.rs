//! The cells that come of the flags, and what a record says of them.

use super::conditions::{Conditions, Variations, questions};
use super::flags::Flags;
use harness::{Session, UsageError};
use instruments::warning::{LeftOut, Warning};
use locks::{self, Reach};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A configuration that is compared: one combination of lock, children and work.
#[derive(Clone, Debug, PartialEq)]
pub struct CellPlan {
    /// The lock's name.
    pub lock: String,
    pub children: usize,
    /// Whether the children are processes.
    pub processes: bool,
    /// How many locks there are.
    pub locks: usize,
    pub nonhold_ns: f64,
    pub hold_ns: f64,
    /// Per cent of acquisitions that read.
    pub share: u32,
    pub variations: Variations,
}

impl CellPlan {
    fn of(lock: &str, conditions: &Conditions) -> Self {
        let Conditions { children, processes, locks, share, variations, .. } = *conditions;
        // Times of flags are whole nanoseconds.
        let [nonhold_ns, hold_ns] = [conditions.nonhold_us, conditions.hold_us].map(|us| (us * 1e3).round());
        Self { lock: lock.to_owned(), children, processes, locks, nonhold_ns, hold_ns, share, variations }
    }

    pub fn conditions(&self) -> Conditions {
        let Self { children, processes, locks, share, variations, .. } = *self;
        let (nonhold_us, hold_us) = (self.nonhold_ns / 1e3, self.hold_ns / 1e3);
        Conditions { children, processes, locks, nonhold_us, hold_us, share, variations }
    }
}

impl fmt::Display for CellPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {}", self.lock, self.conditions())
    }
}

/// Everything that the measurement needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub cells: Vec<CellPlan>,
    pub reach: Reach,
    pub patience: Duration,
    /// Length of one run.
    pub run: Duration,
    /// The time for all, if it was given.
    pub budget: Option<Duration>,
    pub precision: f64,
    pub cpus: usize,
    /// Whether all runs count under the lock, as they do if one lock is user-supplied.
    pub counts: bool,
    /// Requested configurations that are not measured.
    pub left_out: Vec<Warning>,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    pub processes: bool,
    pub patience_us: f64,
    pub run_s: f64,
    pub precision_share: f64,
    pub cpus: usize,
    pub cells: usize,
    /// The user-supplied locks, each with the SHA-256 of its shared object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub object_sha256: BTreeMap<String, String>,
    /// The order in which the cells had their turns, round by round, by their numbers in the order of the flags.
    pub order: Vec<Vec<usize>>,
}

/// 2002's mixes of work without and with the lock, in microseconds.
const MIXES_2002: [(f64, f64); 4] = [(0.0, 0.0), (0.0, 10.0), (7.0, 3.0), (9.0, 1.0)];
/// Runs of a cell: one to warm up, at least six (fewer give no interval without assuming a distribution), at most 20.
pub const LEAST_RUNS: u64 = 6;
pub const MOST_RUNS: u64 = 20;
/// One run in this many has timestamps, for the waits; it does not count for the throughput.
pub const TIMED_EVERY: u64 = 3;
/// A lock that only spins hands over once in a time slice when its waiters outnumber the CPUs, and 100 waiters take
/// minutes to end; with more waiters a CPU than this it is measured only if it is named.
const SPINNERS_A_CPU: usize = 2;

const NO_STOP: &str = "\
--stop-above: not allowed here, since throughput does not record single waits, holders or switches; use \
`contend latency --stop-above` with the same locks and the same number of --threads";

impl Plan {
    /// Checks the flags against the registry and fills in the rest.
    ///
    /// # Errors
    /// More locks than children; a lock that processes cannot share; a share of readers without a lock that has any; a
    /// shared object that is not a lock.
    pub fn of(flags: &Flags, session: &Session) -> Result<Self, UsageError> {
        if flags.stop_above.is_some() {
            return Err(UsageError(NO_STOP.into()));
        }
        check_locks_and_children(flags)?;
        check_variations(flags)?;
        let wanted = conditions_of(flags, session.cpus.len());
        let reach = if flags.processes { Reach::Processes } else { Reach::Threads };
        let cpus = session.cpus.len();
        let (mut cells, mut left_out) = (Vec::new(), Vec::new());
        for entry in chosen_locks(flags)? {
            let named = locks::is_named(&flags.lock, entry);
            if reach == Reach::Processes && !entry.between_processes {
                left_out.push(refuse(named, entry.name, "processes cannot share it", "--processes")?);
                continue;
            }
            cells.extend(cells_of(&wanted, entry, named, cpus, &mut left_out)?);
        }
        if cells.is_empty() {
            return Err(UsageError("--lock: none of the selected locks can be measured this way".into()));
        }
        let run = match session.seconds {
            // A night has more runs, and none that is longer.
            Some(budget) if !session.is_long() => run_within(budget, cells.len()),
            _ => flags.run,
        };
        check_run(run, &cells)?;
        check_stop(run, &cells, flags, session)?;
        let (patience, precision) = (flags.patience, flags.precision);
        // All locks of a run are compared, so that all of them run the same loop.
        let counts = cells.iter().any(|cell| locks::is_object(&cell.lock));
        Ok(Self { cells, reach, patience, run, budget: session.seconds, precision, cpus, counts, left_out })
    }

    /// Returns about how long it takes if every cell converges as soon as it may.
    pub fn expected_time(&self) -> Duration {
        self.budget.unwrap_or(self.run * (self.cells.len() as u32) * RUNS_EXPECTED)
    }

    /// Returns the parameters of the plan for the record.
    pub fn parameters(&self, order: Vec<Vec<usize>>) -> Parameters {
        Parameters {
            processes: self.reach == Reach::Processes,
            patience_us: self.patience.as_nanos() as f64 / 1e3,
            run_s: self.run.as_secs_f64(),
            precision_share: self.precision,
            cpus: self.cpus,
            cells: self.cells.len(),
            object_sha256: locks::hashes(self.cells.iter().map(|cell| cell.lock.as_str())),
            order,
        }
    }
}

/// Six that count, two with timestamps, one to warm up; and about as much as three for ramps and for starting children.
const RUNS_EXPECTED: u32 = 12;
const SHORTEST_RUN: Duration = Duration::from_millis(5);

fn run_within(budget: Duration, cells: usize) -> Duration {
    (budget / (cells as u32 * RUNS_EXPECTED)).max(SHORTEST_RUN)
}

const DEFAULT_LOCKS: &[&str] = &[
    "sysv",
    "usema",
    "usema-spin",
    "calock",
    "calock-spin",
    "adaptive",
    "pthread",
    "pthread-shared",
    "std",
    "parking_lot",
];

const DEFAULT_LOCKS_WITH_READERS: &[&str] = &["rwlock", "rwlock-fair"];

/// Returns the requested locks; without any, those that fit the other flags.
fn chosen_locks(flags: &Flags) -> Result<Vec<&'static locks::Entry>, UsageError> {
    if !flags.lock.is_empty() {
        return locks::chosen(&flags.lock, true).map_err(|error| UsageError(format!("--lock {error}")));
    }
    let readers = flags.share.iter().any(|&share| share > 0);
    let defaults = if readers { DEFAULT_LOCKS_WITH_READERS } else { DEFAULT_LOCKS };
    let suits = |entry: &&locks::Entry| !flags.processes || entry.between_processes;
    Ok(defaults.iter().filter_map(|name| locks::entry(name)).filter(suits).collect())
}

/// Loops of a child that a run must have room for.
const LEAST_LOOPS: f64 = 10.0;

fn check_run(run: Duration, cells: &[CellPlan]) -> Result<(), UsageError> {
    let longest_ns = cells.iter().map(|cell| cell.nonhold_ns + cell.hold_ns).fold(0.0, f64::max);
    if longest_ns * LEAST_LOOPS > run.as_nanos() as f64 {
        let needed = terminal::nanoseconds(longest_ns * LEAST_LOOPS);
        return Err(UsageError(format!(
            "--run {run:?}: too short for --hold and --nonhold; allowed: {needed} or more"
        )));
    }
    Ok(())
}

fn check_locks_and_children(flags: &Flags) -> Result<(), UsageError> {
    let fewest = flags.children.iter().copied().min().unwrap_or(1);
    // Locks that are drawn can outnumber the children.
    if flags.locks > fewest && flags.zipf.is_none() {
        return Err(UsageError(format!(
            "--locks {}: allowed: at most --children ({fewest}), so that each lock has a child",
            flags.locks
        )));
    }
    Ok(())
}

fn check_variations(flags: &Flags) -> Result<(), UsageError> {
    let own_loop = variations_of(flags).any(|variations| variations.needs_own_loop());
    if own_loop && flags.share.iter().any(|&share| share > 0) {
        let given = flags.share.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        return Err(UsageError(format!(
            "--share {given}: not allowed with --zipf, --touch, --ramp or --stop-holder, whose loop has no readers"
        )));
    }
    if let Some(exponent) = flags.zipf
        && flags.locks < 2
    {
        return Err(UsageError(format!("--zipf {exponent}: needs several locks; allowed: with --locks 2 or more")));
    }
    Ok(())
}

/// A run needs time before the stop and after it.
const RUN_OF_STOPS: u32 = 5;

fn check_stop(run: Duration, cells: &[CellPlan], flags: &Flags, session: &Session) -> Result<(), UsageError> {
    if flags.stop_holder.is_some_and(|stop| stop.is_zero()) {
        return Err(UsageError("--stop-holder 0: allowed: more than 0, such as 10ms".to_owned()));
    }
    let longest_us = cells.iter().map(|cell| cell.variations.stop_us).fold(0.0, f64::max);
    let needed = Duration::from_nanos((longest_us * 1e3) as u64) * RUN_OF_STOPS;
    if run >= needed {
        return Ok(());
    }
    let flag = if flags.questions { "--questions" } else { "--stop-holder" };
    let words = |needed: Duration| terminal::nanoseconds(needed.as_nanos() as f64);
    Err(UsageError(match session.seconds.filter(|_| !session.is_long()) {
        Some(budget) => format!(
            "--seconds {}: too short for {flag} with {} configurations; allowed: {} or more",
            budget.as_secs_f64(),
            cells.len(),
            (needed * (cells.len() as u32 * RUNS_EXPECTED)).as_secs_f64().ceil()
        ),
        None => format!("--run {run:?}: too short for {flag}; allowed: {} or more", words(needed)),
    }))
}

/// Refuses a lock that was named; omits one that came with `all`, and returns a warning for the record.
fn refuse(named: bool, lock: &str, reason: &str, flag: &str) -> Result<Warning, UsageError> {
    if named {
        return Err(UsageError(format!("--lock {lock}: {reason} ({flag})")));
    }
    Ok(Warning::from(LeftOut { what: lock.to_owned(), reason: reason.to_owned() }))
}

fn cells_of(
    wanted: &[Conditions],
    entry: &locks::Entry,
    named: bool,
    cpus: usize,
    left_out: &mut Vec<Warning>,
) -> Result<Vec<CellPlan>, UsageError> {
    let lock = entry.name;
    let mut cells = Vec::new();
    for conditions in wanted {
        let Conditions { children, share, .. } = *conditions;
        let refusal = if entry.only_spins() && !named && children > SPINNERS_A_CPU * cpus {
            let reason =
                "it only spins and collapses with more threads than CPUs; select it with --lock to measure it anyway";
            let what = format!("{lock}, {}", conditions.workers());
            Some(Warning::from(LeftOut { what, reason: reason.into() }))
        } else if share > 0 && !entry.readers {
            Some(refuse(named, lock, "it has no read mode", &format!("--share {share}"))?)
        } else {
            None
        };
        match refusal {
            Some(warning) if left_out.contains(&warning) => {}
            Some(warning) => left_out.push(warning),
            None => cells.push(CellPlan::of(lock, conditions)),
        }
    }
    Ok(cells)
}

/// Returns all combinations of the flags, or the questions.
fn conditions_of(flags: &Flags, cpus: usize) -> Vec<Conditions> {
    let processes = flags.processes;
    if flags.questions {
        return questions(cpus).into_iter().map(|question| Conditions { processes, ..question }).collect();
    }
    let mut all = Vec::new();
    for (&children, &share) in
        flags.children.iter().flat_map(|children| flags.share.iter().map(move |share| (children, share)))
    {
        for (nonhold_us, hold_us) in mixes(flags) {
            all.extend(variations_of(flags).map(|variations| Conditions {
                children: children as usize,
                processes,
                locks: flags.locks as usize,
                nonhold_us,
                hold_us,
                share,
                variations,
            }));
        }
    }
    all
}

/// Returns one variation for each number of touched lines.
fn variations_of(flags: &Flags) -> impl Iterator<Item = Variations> {
    let stop_us = flags.stop_holder.map_or(0.0, |stop| stop.as_nanos() as f64 / 1e3);
    let base =
        Variations { hold_ratio: flags.hold_ratio, zipf: flags.zipf, touched_lines: 0, ramp: flags.ramp, stop_us };
    flags.touch.iter().map(move |&lines| Variations { touched_lines: lines as usize, ..base })
}

/// Returns the mixes, in microseconds.
fn mixes(flags: &Flags) -> Vec<(f64, f64)> {
    if flags.nonhold.is_none() && flags.hold.is_none() {
        return MIXES_2002.into();
    }
    let us = |span: Option<Duration>| span.unwrap_or_default().as_nanos() as f64 / 1e3;
    vec![(us(flags.nonhold), us(flags.hold))]
}
