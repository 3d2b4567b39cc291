//! The measurement: runs of all cells in turn, until their throughput is known or they have had their share of runs.

mod cell;
mod conductor;
#[cfg(test)]
mod night;
mod row;

use super::plan::{LEAST_RUNS, MOST_RUNS, Plan};
use super::record::Row;
use cell::Cell;
use harness::Calibrated;
use harness::turns::{Rules, Turns, take_turns};
use harness::{Lookout, Progress, Session};
use instruments::statistics::EndedBy;
use instruments::warning::{LeftOut, Warning};
use loops::own_lock::{Lost, or_lost};
use std::time::Instant;

/// What the experiment brought.
pub struct Measured {
    pub rows: Vec<Row>,
    /// The order in which the cells, by number, had their turns.
    pub order: Vec<Vec<usize>>,
    pub warnings: Vec<Warning>,
    /// A shared object that ended it all.
    pub lost: Option<Lost>,
}

/// Measures every cell of the plan, and says what it is at.
///
/// # Errors
/// A lock, a thread or a process that the system refuses; a lock that does not exclude; a shared object that crashed or
/// blocked before there was a row.
pub fn run_plan(
    plan: &Plan,
    session: &Session,
    calibrated: &Calibrated,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    locks::set_patience(plan.patience);
    let mut cells: Vec<Cell> = plan.cells.iter().cloned().map(Cell::new).collect();
    let rules = rules(plan, session);
    let mut lookout = Lookout::open(session, calibrated.clock());
    let mut lost = None;
    let turns = take_turns(&mut cells, &rules, session, progress, |cell| {
        or_lost(cell.visit(plan, session, calibrated, &mut lookout), &mut lost)
    })?;
    for cell in &mut cells {
        // Of one whose threads are still in its code nobody ends the lock.
        let _ = or_lost(cell.end(calibrated.clock()), &mut lost)?;
    }
    cells.iter_mut().for_each(|cell| cell.forget_if_wider(&lookout));
    let ended = cells.iter().zip(&turns.ended);
    let rows: Vec<Option<Row>> = ended.map(|(cell, &end)| row::row(cell, plan, calibrated, end)).collect();
    let wide = rules.not_converged(&cells, &turns, "the throughput of ");
    let warnings = plan
        .left_out
        .iter()
        .cloned()
        .chain(empty(&cells, &rows, &turns))
        .chain(wide)
        .chain(lookout.warnings())
        .chain(lost.iter().map(Lost::warning))
        .collect();
    let rows: Vec<Row> = rows.into_iter().flatten().collect();
    match lost {
        Some(lost) if rows.is_empty() => Err(lost.into()),
        lost => Ok(Measured { rows, order: turns.order, warnings, lost }),
    }
}

/// The cells that brought nothing although nobody stopped them: a row that is missing is named.
fn empty(cells: &[Cell], rows: &[Option<Row>], turns: &Turns) -> impl Iterator<Item = Warning> {
    let ended = cells.iter().zip(rows).zip(&turns.ended);
    let empty = ended.filter(|((_, row), ended_by)| row.is_none() && **ended_by != EndedBy::Interrupted);
    empty.map(|((cell, _), _)| {
        let reason = "no loop of it was counted; a longer --run or --seconds, or fewer children, may measure it";
        Warning::from(LeftOut { what: cell.plan.to_string(), reason: reason.into() })
    })
}

/// Who asks for a night wants all of it, however well the figures are known by then.
fn rules(plan: &Plan, session: &Session) -> Rules {
    Rules {
        began: Instant::now(),
        budget: plan.budget,
        precision: (!session.is_long()).then_some(plan.precision),
        at_least: LEAST_RUNS,
        at_most: if session.is_long() { u64::MAX } else { MOST_RUNS },
    }
}
