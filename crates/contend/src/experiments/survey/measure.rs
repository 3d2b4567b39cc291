//! The measurement: one experiment after the other with the same instruments.

use super::flags::Plan;
use super::record::{Row, comparison};
use crate::apparatus::Apparatus;
use crate::experiments::{clock, latency};
use crate::session::Session;
use instruments::warning::Warning;

/// What the survey brought.
pub struct Measured {
    pub rows: Vec<Row>,
    /// The order in which the cells of the latency laboratory had their turns.
    pub order: Vec<Vec<usize>>,
    pub warnings: Vec<Warning>,
}

/// Runs the experiments of the plan, and tells `note` what it is at.
///
/// # Errors
/// A CPU, a lock or a thread that the system refuses.
pub fn run_plan(plan: &Plan, session: &Session, note: impl Fn(&str) + Sync) -> anyhow::Result<Measured> {
    note("calibrating");
    let apparatus = Apparatus::calibrate(session)?;
    let clock = clock::run_plan(&plan.clock, session, &apparatus, &note)?;
    let latency = latency::run_plan(&plan.latency, session, &apparatus, &note)?;
    let comparison = comparison(&clock, &latency.rows);
    let rows = clock.into_iter().map(Row::Clock);
    let rows = rows
        .chain(latency.rows.into_iter().map(|row| Row::Latency(row.into())))
        .chain(comparison.into_iter().map(Row::ThenAndNow));
    let warnings = apparatus.warnings().into_iter().chain(latency.warnings).collect();
    Ok(Measured { rows: rows.collect(), order: latency.order, warnings })
}
