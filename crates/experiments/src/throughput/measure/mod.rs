//! The measurement: runs of all cells in turn, until their throughput is known or they have had their share of runs.

mod cell;
mod child;
mod stage;

use super::flags::{LEAST_RUNS, MOST_RUNS, Plan};
use super::record::Row;
use cell::{Cell, throughput_interval};
use harness::Calibrated;
use harness::{Progress, Session};
use instruments::statistics::Interleaving;
use instruments::statistics::order::median;
use instruments::statistics::stopping::{self, EndedBy, StoppingRule};
use instruments::warning::Warning;
use locks;
use std::time::Instant;

/// What the experiment brought.
pub struct Measured {
    pub rows: Vec<Row>,
    /// The order in which the cells, by number, had their turns.
    pub order: Vec<Vec<usize>>,
    pub warnings: Vec<Warning>,
}

/// Measures every cell of the plan, and says what it is at.
///
/// # Errors
/// A lock, a thread or a process that the system refuses; a lock that does not exclude.
pub fn run_plan(
    plan: &Plan,
    session: &Session,
    calibrated: &Calibrated,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    locks::set_patience(plan.patience);
    let mut cells: Vec<Cell> = plan.cells.iter().cloned().map(Cell::new).collect();
    let (ended, order) = take_turns(&mut cells, plan, session, calibrated, progress)?;
    let rows: Vec<Row> =
        cells.iter().zip(&ended).filter_map(|(cell, &ended_by)| cell.row(plan, calibrated, ended_by)).collect();
    let warnings = plan.left_out.iter().cloned().chain(not_converged(&rows, plan)).collect();
    Ok(Measured { rows, order, warnings })
}

fn take_turns(
    cells: &mut [Cell],
    plan: &Plan,
    session: &Session,
    calibrated: &Calibrated,
    progress: &Progress,
) -> anyhow::Result<(Vec<EndedBy>, Vec<Vec<usize>>)> {
    let began = Instant::now();
    let mut ended = vec![EndedBy::Interrupted; cells.len()];
    let mut turns = Interleaving::new(cells.len(), session.seed);
    while let Some(turn) = turns.next() {
        for place in turn {
            if session.interruption.is_requested() {
                return Ok((ended, turns.order().to_vec()));
            }
            let cell = &mut cells[place];
            progress.note(&cell.plan.to_string());
            cell.visit(plan, session, calibrated)?;
            let spent = plan.budget.is_some_and(|budget| began.elapsed() > budget);
            if let Some(ended_by) = verdict(cell, plan, spent) {
                ended[place] = ended_by;
                cell.retire();
                turns.close(place);
            }
        }
    }
    Ok((ended, turns.order().to_vec()))
}

/// Whether the cell has ended, and why.
fn verdict(cell: &Cell, plan: &Plan, spent: bool) -> Option<EndedBy> {
    let rule = StoppingRule { target_relative_width: plan.precision, at_least: LEAST_RUNS, at_most: MOST_RUNS };
    let estimate = median(&cell.throughputs)?;
    let interval = throughput_interval(&cell.throughputs);
    let repeats = cell.throughputs.len() as u64;
    rule.verdict(&stopping::Progress { repeats, estimate, interval, budget_spent: spent }).ended_by()
}

/// One warning for all cells that had their runs first: it names the widest.
fn not_converged(rows: &[Row], plan: &Plan) -> Option<Warning> {
    let width = |row: &Row| row.throughput_ci.map_or(1.0, |interval| interval.relative_width(row.throughput_per_s));
    let open = rows.iter().filter(|row| row.ended_by == EndedBy::Budget);
    let count = open.clone().count();
    let widest = open.max_by(|a, b| width(a).total_cmp(&width(b)))?;
    let what = format!("the throughput of {} (the widest of {count} such cells)", widest.cell());
    Some(Warning::NotConverged { what, relative_width: width(widest), target: plan.precision })
}
