//! The measurement: repetitions of all cells, in random order, until the time is used up or each has had its
//! repetitions.

mod causes;
mod cell;
pub mod every_cpu;
mod longest;
#[cfg(test)]
mod night;
mod sum;
mod turn;

use super::cells::CellPlan;
use super::plan::Plan;
use super::record::{Line, Row};
pub use super::trace::GapTrace;
#[cfg(test)]
pub use super::trace::KeptGap;
use cell::Cell;
use harness::turns::{Rules, take_turns};
use harness::{Observer, Progress, Session, SmtMonitor};
use instruments::clock::Clock;
use instruments::cpus::CpuSet;
use instruments::cpus::schedule::bound_realtime;
use instruments::evidence::Recorder;
use instruments::warning::Warning;
use record::distinct;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use turn::TurnSetup;

/// The results of the experiment.
pub struct Measured {
    pub rows: Vec<Row>,
    /// The order of the repetitions of the cells, by number.
    pub order: Vec<Vec<usize>>,
    /// Every gap of the first cell, if the plan keeps them.
    pub kept: GapTrace,
    pub warnings: Vec<Warning>,
}

/// The time after which the kernel ends a process whose real-time thread does not sleep.
pub const LONGEST_REALTIME: Duration = Duration::from_millis(500);

/// Measures every cell of the plan; the observer, which may end the measurement, receives each piece.
pub fn run_plan(
    plan: &Plan,
    session: &Session,
    clock: Clock,
    observer: &mut (impl Observer<Line> + Send),
    progress: &Progress,
) -> anyhow::Result<Measured> {
    bound_realtime(LONGEST_REALTIME)?;
    let mut monitor = SmtMonitor::open(session, clock);
    let setup = TurnSetup { clock, plan, probe: monitor.probe, interruption: &session.interruption, progress };
    // The kernel traces of each sampled CPU: opening and closing takes longer than some repetitions.
    let mut records: BTreeMap<usize, Option<Recorder>> = BTreeMap::new();
    let origin = clock.now();
    let new = |cell: &CellPlan| Cell::new(cell.clone(), clock, origin, plan.keeps_gaps);
    let mut cells: Vec<Cell> = plan.cells.iter().map(new).collect();
    let began = Instant::now();
    let rules = Rules { began, budget: plan.budget, precision: None, at_least: 0, at_most: plan.turns };
    let turns = take_turns(&mut cells, &rules, session, progress, |cell| {
        observer.note(&cell.plan.name);
        let record = records.entry(cell.plan.reader_cpu).or_default();
        let mut flow = ControlFlow::Continue(());
        cell.run(&setup, record, |line| {
            flow = observer.piece(&Line { time_s: began.elapsed().as_secs_f64(), ..line });
            flow
        })?;
        Ok(if cell.stopped.is_some() { ControlFlow::Break(()) } else { flow })
    })?;
    cells.iter().for_each(|cell| monitor.learn_widths(cell.plan.reader_cpu, &cell.widths.all()));
    let own = cells.iter_mut().flat_map(Cell::warnings);
    let warnings: Vec<Warning> =
        plan.warnings.iter().cloned().chain(turns.left_out()).chain(own).chain(monitor.warnings()).collect();
    let kept = cells.first_mut().map(Cell::take_kept).unwrap_or_default();
    let rows = cells.iter().filter_map(|cell| cell::row(cell, plan, &monitor)).collect();
    // Several cells have the same warnings about the machine.
    Ok(Measured { rows, order: turns.order, kept, warnings: distinct(&warnings, Warning::clone) })
}

/// Returns the kernel trace of these CPUs, opened if it is not yet; it follows the calling thread from now on.
pub fn following<'a>(record: &'a mut Option<Recorder>, clock: Clock, cpus: &CpuSet) -> &'a mut Recorder {
    match record {
        Some(recorder) => {
            recorder.follow_this_thread();
            recorder
        }
        None => record.insert(Recorder::open(clock, cpus)),
    }
}
