//! The measurement: contestants are built, their memory is measured, and then their cells are interleaved.

mod cell;
mod memory;
mod program;
mod run;

pub use program::{BuildDir, Readiness};

use super::contestants::{Contestant, Runs};
use super::plan::{Absent, CellPlan, Plan};
use super::record::{Failure, Fault, Row};
use cell::{Cell, LEAST_TURNS, MOST_TURNS, Turn};
use harness::turns::{Rules, take_turns};
use harness::{Progress, Session, SmtMonitor};
use instruments::statistics::EndedBy;
use instruments::warning::{LeftOut, Warning};
use loops::ring::Class;
use memory::{Memory, MemorySamples};
use program::Ready;
use record::{Basis, Estimates};
use run::RunError;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The results of the experiment.
pub struct Measured {
    pub rows: Vec<Row>,
    pub absent: Vec<Absent>,
    /// The order of the repetitions of the cells, by number.
    pub order: Vec<Vec<usize>>,
    pub warnings: Vec<Warning>,
}

/// The state of the contestants, apart from their cells.
#[derive(Default)]
struct Known {
    ready: BTreeMap<String, Ready>,
    failures: BTreeMap<String, Failure>,
    absent: Vec<Absent>,
    left_out: Vec<Warning>,
    samples: BTreeMap<(String, usize), MemorySamples>,
}

/// Measures every cell of the plan, and reports the current one.
pub fn run_plan(
    plan: &Plan,
    session: &Session,
    mut monitor: SmtMonitor,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    let began = Instant::now();
    let end = began + plan.budget;
    let build_dir = BuildDir::open(&plan.sources)?;
    let mut known = build(plan, &build_dir, session, progress);
    measure_memory(plan, &mut known, session, progress, began + plan.budget.mul_f64(MEMORY_SHARE));
    let mut cells: Vec<Cell> = plan.cells.iter().filter(|cell| can_run(cell, &known)).cloned().map(Cell::new).collect();
    for cell in &mut cells {
        cell.failure = known.failures.get(&cell.plan.contestant.name).cloned();
    }
    let rules = Rules {
        began,
        budget: Some(plan.budget),
        precision: Some(plan.precision),
        at_least: LEAST_TURNS,
        at_most: MOST_TURNS,
    };
    let slice = slice_within(end.saturating_duration_since(Instant::now()), cells.len());
    let turns = take_turns(&mut cells, &rules, session, progress, |cell| {
        let ready = known.ready.get(&cell.plan.contestant.name);
        Ok(cell.visit(&Turn { plan, ready, slice, session }, &mut monitor))
    })?;
    let rows: Vec<Row> = rows(&cells, &turns.ended, &known, &monitor);
    let not_converged = rules.not_converged(&cells, &turns, "hop time of ");
    let warnings = plan
        .left_out
        .iter()
        .cloned()
        .chain(known.left_out)
        .chain(not_converged)
        .chain(turns.left_out())
        .chain(monitor.warnings())
        .collect();
    Ok(Measured { rows, absent: known.absent, order: turns.order, warnings })
}

/// The share of the user's time for building, and of the budget for building and for memory; the rest is for the cells.
const BUILD_SHARE: f64 = 0.5;
const MEMORY_SHARE: f64 = 0.3;
const MEMORY_REPEATS: usize = 3;

fn build(plan: &Plan, build_dir: &BuildDir, session: &Session, progress: &Progress) -> Known {
    let contestants: Vec<&Contestant> = plan.contestants.iter().map(|contestant| &**contestant).collect();
    // A user who set a time wants values of it.
    let until = session.seconds.map(|seconds| Instant::now() + seconds.mul_f64(BUILD_SHARE));
    let prepared = build_dir.prepare(
        &contestants,
        false,
        plan.timeout,
        session.cpus.len(),
        (&session.interruption, until),
        progress,
    );
    let mut known = Known::default();
    for (contestant, readiness) in prepared {
        match readiness {
            Readiness::Ready(ready) => {
                known.ready.insert(contestant, ready);
            }
            Readiness::Absent(needs) => known.absent.push(Absent { contestant, needs }),
            Readiness::NoTime => {
                let reason = "not built in half of the time of --seconds".to_owned();
                known.left_out.push(LeftOut { what: contestant, reason }.into());
            }
            Readiness::NotBuilt(message) => {
                known.failures.insert(contestant, Failure { fault: Fault::NotBuilt, message });
            }
        }
    }
    for contestant in &contestants {
        if let Runs::BuiltIn(built_in) = contestant.runs {
            // This program, which still exists when its file has been replaced.
            let words = ["/proc/self/exe", "ring", "--alone", built_in.name].map(str::to_owned).into();
            let (environment, folder) = (Vec::new(), build_dir.path().to_owned());
            known.ready.insert(contestant.name.clone(), Ready { words, environment, folder });
        }
    }
    known
}

/// Measures memory: of each contestant once, and again while there is time.
fn measure_memory(plan: &Plan, known: &mut Known, session: &Session, progress: &Progress, until: Instant) {
    for repeat in 0..MEMORY_REPEATS {
        for contestant in &plan.contestants {
            let Some(ready) = known.ready.get(&contestant.name) else { continue };
            let rings = plan.memory.iter().filter(|&&threads| threads <= contestant.max_threads);
            for &threads in rings {
                let over = (repeat > 0 || session.seconds.is_some()) && Instant::now() > until;
                if over || session.interruption.is_requested() || known.failures.contains_key(&contestant.name) {
                    break;
                }
                progress.note(&format!("memory of {}", contestant.name));
                let samples = known.samples.entry((contestant.name.clone(), threads)).or_default();
                if let Err(RunError::Failed(failure)) =
                    samples.measure(contestant, ready, threads, plan.timeout, session)
                {
                    known.failures.insert(contestant.name.clone(), failure);
                }
            }
        }
    }
}

/// Returns whether a cell has a result; a failure is one.
fn can_run(cell: &CellPlan, known: &Known) -> bool {
    let name = &cell.contestant.name;
    matches!(cell.contestant.runs, Runs::BuiltIn(_))
        || known.ready.contains_key(name)
        || known.failures.contains_key(name)
}

/// The shortest repetition: long enough for the clock, and for a program's hops to exceed the scatter of its start.
const SHORTEST_TURN: Duration = Duration::from_millis(5);
const LONGEST_TURN: Duration = Duration::from_millis(60);
/// The number of repetitions of a cell that the time should allow.
const TURNS: u32 = 14;

fn slice_within(left: Duration, cells: usize) -> Duration {
    (left / (cells.max(1) as u32 * TURNS)).clamp(SHORTEST_TURN, LONGEST_TURN)
}

fn rows(cells: &[Cell], ended: &[EndedBy], known: &Known, monitor: &SmtMonitor) -> Vec<Row> {
    let row = |(cell, &ended_by): (&Cell, &EndedBy)| {
        let key = (cell.plan.contestant.name.clone(), cell.plan.threads);
        let samples = known.samples.get(&key).filter(|samples| samples.repeats() > 0);
        let memory = samples.map_or_else(Memory::default, |samples| samples.memory(cell.plan.contestant.class));
        cell.row(ended_by, memory, limit_of(cell, cells), monitor)
    };
    cells.iter().zip(ended).filter_map(row).collect()
}

/// Returns the limit that a cell is compared with, and its times: of handoffs on one CPU and between two, the faster.
fn limit_of(cell: &Cell, cells: &[Cell]) -> Option<(String, Estimates)> {
    let plan = &cell.plan;
    let suits = |limit: &&Cell| {
        let other = &limit.plan;
        let Runs::BuiltIn(built_in) = other.contestant.runs else { return false };
        if other.contestant.class != Class::Limit {
            return false;
        }
        if plan.arrangement.is_some() {
            let Runs::BuiltIn(own) = plan.contestant.runs else { return false };
            return built_in.large.is_some() && built_in.large == own.large && other.arrangement == plan.arrangement;
        }
        match plan.contestant.limit {
            "chase" => other.contestant.name == "chase" && other.threads == plan.threads,
            handover => {
                other.contestant.name.strip_prefix(handover).is_some_and(|rest| rest == "-one-cpu" || rest == "-across")
            }
        }
    };
    if plan.contestant.class == Class::Limit {
        return None;
    }
    let limits: Vec<(&Cell, Estimates)> = cells.iter().filter(suits).map(|limit| (limit, limit.hops())).collect();
    let basis = Basis::common(limits.iter().map(|(_, hops)| *hops));
    let timed = limits.into_iter().filter_map(|(limit, hops)| Some((limit, hops, hops.on(basis)?.value)));
    let fastest = timed.min_by(|one, other| one.2.total_cmp(&other.2));
    fastest.map(|(limit, hops, _)| (limit.plan.contestant.name.clone(), hops))
}
