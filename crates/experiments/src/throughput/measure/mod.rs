//! The measurement: runs of all cells in turn, until their throughput is known or they have had their share of runs.

mod cell;
mod child;
mod counters;
mod histogram;
mod make_locks;
mod phase;
mod random;
mod row;

use super::plan::{LEAST_RUNS, MOST_RUNS, Plan};
use super::record::Row;
use cell::Cell;
use harness::Calibrated;
use harness::turns::{Rules, take_turns};
use harness::{Progress, Session};
use instruments::warning::Warning;
use std::ops::ControlFlow;
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
    let rules = rules(plan);
    let turns = take_turns(&mut cells, &rules, session, progress, |cell| {
        cell.visit(plan, session, calibrated)?;
        Ok(ControlFlow::Continue(()))
    })?;
    let rows =
        cells.iter().zip(&turns.ended).filter_map(|(cell, &ended_by)| row::row(cell, plan, calibrated, ended_by));
    let rows = rows.collect();
    let warnings = plan.left_out.iter().cloned().chain(rules.not_converged(&cells, &turns, "the throughput of "));
    Ok(Measured { rows, order: turns.order, warnings: warnings.collect() })
}

fn rules(plan: &Plan) -> Rules {
    Rules {
        began: Instant::now(),
        budget: plan.budget,
        precision: Some(plan.precision),
        at_least: LEAST_RUNS,
        at_most: MOST_RUNS,
    }
}
