//! The plan made from the flags and the records, and its description in the record.

use super::agreement::{Agreement, Measured, known_error};
use super::flags::Flags;
use crate::model::trace::RecordFile;
use harness::{Session, UsageError};
use instruments::statistics::Interval;
use instruments::warning::{LeftOut, Warning};
use manycore::{Costs, NAMES, Work};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cmp::Ordering;
use std::path::Path;
use std::time::Duration;

const DEFAULT_CORES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The seed of each run differs; the middle one counts.
pub const RUNS: u64 = 3;

/// A configuration to model.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub lock: &'static str,
    pub threads: usize,
    pub cores: usize,
    pub nodes: usize,
    pub work: Work,
    pub run_ns: f64,
    pub measured: Option<Measured>,
}

impl Cell {
    /// Returns whether the model has it. A passive thread of `malthusian` takes longer to wake in the model than its
    /// successor spins, so each handoff waits for a wake-up; the real wake-ups vary, and the lock soon does without.
    fn is_modelled(&self) -> bool {
        self.lock != "malthusian" || self.threads <= self.cores
    }
}

/// The input of the computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub cells: Vec<Cell>,
    pub costs: ModelCosts,
    pub against: Option<String>,
    pub seed: u64,
    pub warnings: Vec<Warning>,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    pub costs: ModelCosts,
    /// The record with which the model is compared.
    pub against: Option<String>,
    /// The result of that comparison.
    pub agreement: Option<Agreement>,
    /// The error that the validation of the model found.
    pub known_error: String,
    pub runs: u64,
    pub assumptions: Vec<String>,
}

impl Plan {
    /// Checks the flags, and reads the records.
    pub fn of(flags: &Flags, session: &Session) -> anyhow::Result<Self> {
        let costs = ModelCosts::of(flags)?;
        let is_wanted = |lock: &str| flags.lock.is_empty() || flags.lock.iter().any(|name| name == lock);
        let mut warnings = Vec::new();
        let (cells, against) = match &flags.against {
            Some(path) => {
                let (name, cells) = recorded(path, flags, is_wanted, &mut warnings)?;
                (cells, Some(name))
            }
            None => (swept(flags, is_wanted), None),
        };
        let cells = modelled(cells, &mut warnings)?;
        Ok(Self { cells, costs, against, seed: session.seed, warnings })
    }

    /// Returns the description for the record.
    pub fn parameters(&self, agreement: Option<Agreement>) -> Parameters {
        let assumptions = [
            "modelled: no value here is a measurement of the machine with that many cores",
            "transfers: the transfers of a cache line are serialised, and take the same time however many cores there are",
            "scheduler: a woken thread preempts no other thread, and each core has a queue, first in, first out",
            "nodes: a transfer between NUMA nodes takes three times as long unless --remote-line gives it",
        ];
        Parameters {
            costs: self.costs.clone(),
            against: self.against.clone(),
            agreement,
            known_error: known_error(),
            runs: RUNS,
            assumptions: assumptions.map(str::to_owned).into(),
        }
    }
}

/// Returns the configurations that the model has, with a warning about the others.
fn modelled(cells: Vec<Cell>, warnings: &mut Vec<Warning>) -> Result<Vec<Cell>, UsageError> {
    let (modelled, others): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(Cell::is_modelled);
    let others = others.len();
    let what = "malthusian with more threads than cores";
    if modelled.is_empty() {
        return Err(UsageError(format!(
            "--lock: no configuration remains: the model does not have {what}; select another lock, or one thread per core"
        )));
    }
    if others > 0 {
        let what = format!("the model of {what} ({})", terminal::counted(others, "configuration"));
        let reason = "it models a wake-up for nearly every handoff, and is off by a factor of about 20";
        warnings.push(LeftOut { what, reason: reason.into() }.into());
    }
    Ok(modelled)
}

fn swept(flags: &Flags, is_wanted: impl Fn(&str) -> bool) -> Vec<Cell> {
    let cores = if flags.cores.is_empty() { DEFAULT_CORES.to_vec() } else { flags.cores.clone() };
    let work =
        Work { nonhold_ns: flags.nonhold.as_nanos() as f64, hold_ns: flags.hold.as_nanos() as f64, lines: flags.touch };
    let mut cells = Vec::new();
    for &per_core in &flags.per_core {
        for &cores in &cores {
            cells.extend(NAMES.into_iter().filter(|lock| is_wanted(lock)).map(|lock| Cell {
                lock,
                threads: cores * per_core,
                cores,
                nodes: flags.nodes.min(cores),
                work,
                run_ns: flags.run.as_nanos() as f64,
                measured: None,
            }));
        }
    }
    cells
}

/// Returns the configurations of a record of `contend throughput` that the model can run.
fn recorded(
    path: &Path,
    flags: &Flags,
    is_wanted: impl Fn(&str) -> bool,
    warnings: &mut Vec<Warning>,
) -> anyhow::Result<(String, Vec<Cell>)> {
    let writer = "contend throughput --format json --output FILE";
    let file = RecordFile::read("--against", path, "throughput", writer)?;
    let source = &file.record;
    let cores = source.parameters.get("cpus").or_else(|| source.environment.get("cpus")).and_then(Value::as_u64);
    let cores = cores.and_then(|cores| usize::try_from(cores).ok()).filter(|cores| (1..=256).contains(cores));
    let cores = cores.ok_or_else(|| file.unsuitable("it does not name from 1 to 256 CPUs"))?;
    let (mut cells, mut unknown) = (Vec::new(), 0);
    for row in &file.rows {
        match cell(row, cores, flags) {
            Some(cell) if is_wanted(cell.lock) => cells.push(cell),
            Some(_) => {}
            None => unknown += 1,
        }
    }
    if cells.is_empty() {
        return Err(file.unsuitable("it has no configuration that the model can run").into());
    }
    cells.sort_by(|a, b| {
        let key = |cell: &Cell| (cell.work.nonhold_ns, cell.work.hold_ns, cell.work.lines);
        key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal).then(a.threads.cmp(&b.threads))
    });
    if unknown > 0 {
        let what = format!("the model of {} of the record", terminal::counted(unknown, "configuration"));
        let reason = "the model has exclusive locks of threads, one lock, without the other questions of throughput";
        warnings.push(LeftOut { what, reason: reason.into() }.into());
    }
    Ok((file.name, cells))
}

fn cell(row: &Value, cores: usize, flags: &Flags) -> Option<Cell> {
    let lock = NAMES.into_iter().find(|name| row["lock"] == *name)?;
    let number = |field: &str| row[field].as_f64();
    let is_plain = row["processes"] == false
        && number("locks") == Some(1.0)
        && number("share") == Some(0.0)
        && number("hold_ratio").unwrap_or(1.0) == 1.0
        && row["ramp"] != true
        && number("stop_us").unwrap_or(0.0) == 0.0;
    let throughput_per_s = number("throughput_per_s").filter(|value| *value > 0.0)?;
    let ends = row["throughput_ci"].as_array().map(|ends| [0, 1].map(|end| ends.get(end).and_then(Value::as_f64)));
    let throughput_ci = match ends {
        Some([Some(low), Some(high)]) => Some(Interval::new(low, high)),
        _ => None,
    };
    let threads = usize::try_from(row["children"].as_u64()?).ok()?;
    let work = Work {
        nonhold_ns: number("nonhold_us")? * 1e3,
        hold_ns: number("hold_us")? * 1e3,
        lines: number("touched_lines").unwrap_or(0.0) as usize,
    };
    let measured = Measured { throughput_per_s, throughput_ci, cov: number("cov") };
    is_plain.then(|| Cell {
        lock,
        threads,
        cores,
        nodes: flags.nodes.min(cores),
        work,
        run_ns: flags.run.as_nanos() as f64,
        measured: Some(measured),
    })
}

/// The costs in a record of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelCosts {
    /// The record from which they were taken; `null` for the default values.
    pub file: Option<String>,
    #[serde(flatten)]
    pub costs: Costs,
}

/// The default values, of a virtual machine with two CPUs of an AMD EPYC. They are listed in the validation.
const REFERENCE: Costs = Costs {
    atomic_ns: 2.2,
    line_ns: 48.0,
    remote_line_ns: 144.0,
    syscall_ns: 165.0,
    wake_ns: 550.0,
    wake_latency_ns: 16_000.0,
    sleep_ns: 550.0,
    switch_ns: 980.0,
    slice_ns: 3e6,
};
/// The transfer between NUMA nodes, in transfers within one.
const REMOTE: f64 = 3.0;

impl ModelCosts {
    /// Takes the costs of the flags, then those of the record.
    pub fn of(flags: &Flags) -> anyhow::Result<Self> {
        let (file, recorded) = match &flags.costs {
            Some(path) => {
                let (file, costs) = read(path)?;
                (Some(file), costs)
            }
            None => (None, REFERENCE),
        };
        let or = |flag: Option<Duration>, other: f64| flag.map_or(other, |time| time.as_nanos() as f64);
        let line_ns = or(flags.line, recorded.line_ns);
        let costs = Costs {
            atomic_ns: or(flags.atomic, recorded.atomic_ns),
            line_ns,
            remote_line_ns: or(flags.remote_line, REMOTE * line_ns),
            syscall_ns: or(flags.syscall, recorded.syscall_ns),
            wake_ns: or(flags.wake, recorded.wake_ns),
            wake_latency_ns: or(flags.wake_latency, recorded.wake_latency_ns),
            sleep_ns: or(flags.sleep, recorded.sleep_ns),
            switch_ns: or(flags.switch, recorded.switch_ns),
            slice_ns: or(flags.slice, recorded.slice_ns).max(SHORTEST_SLICE_NS),
        };
        Ok(Self { file, costs })
    }

    /// Describes them in three lines.
    pub fn words(&self) -> String {
        let (time, costs) = (terminal::nanoseconds, self.costs);
        format!(
            "  atomic {}, line {}, between nodes {},\n  \
             system call {}, switch {}, wake {} and {} until it runs,\n  sleep {}, slice {}",
            time(costs.atomic_ns),
            time(costs.line_ns),
            time(costs.remote_line_ns),
            time(costs.syscall_ns),
            time(costs.switch_ns),
            time(costs.wake_ns),
            time(costs.wake_latency_ns),
            time(costs.sleep_ns),
            time(costs.slice_ns),
        )
    }
}

/// A slice of no length would let no thread ever run.
const SHORTEST_SLICE_NS: f64 = 1_000.0;

/// Reads the limits of a ring: a switch, a wake-up on the same CPU, one across CPUs, and a cache line.
fn read(path: &Path) -> anyhow::Result<(String, Costs)> {
    let file = RecordFile::read("--costs", path, "ring", "contend ring --format json --output FILE")?;
    let limit = |limit: &str| {
        let is_limit = |row: &&Value| row["contestant"] == limit && row["class"] == "limit";
        let row = file.rows.iter().find(is_limit);
        if row.is_some_and(|row| row["repeats"].as_u64() == Some(1)) {
            let words = format_args!("the limit {limit} is of a single repetition; record it with more --seconds");
            return Err(file.unsuitable(words));
        }
        let ns = row.and_then(|row| row["ns_per_hop"].as_f64());
        ns.filter(|ns| *ns > 0.0).ok_or_else(|| file.unsuitable(format_args!("the record has no limit {limit}")))
    };
    let syscall_ns = limit("system-call")?;
    let switch_ns = (limit("sched-yield-one-cpu")? - syscall_ns).max(0.0);
    // A hop on one CPU is a wake-up, the call that blocks, and a switch. The first two are not distinguished.
    let wake_ns = (limit("futex-one-cpu")? - switch_ns).max(0.0) / 2.0;
    let wake_latency_ns = (limit("futex-across")? - wake_ns).max(0.0);
    // A hop is a store that invalidates the copy of the other CPU, and a load that fetches the line.
    let line_ns = limit("cache-line-across")? / 2.0;
    Ok((file.name, Costs { line_ns, syscall_ns, wake_ns, wake_latency_ns, sleep_ns: wake_ns, switch_ns, ..REFERENCE }))
}
