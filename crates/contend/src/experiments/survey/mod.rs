//! `contend` without a command: the clock, the latency laboratory, and 1998 beside today.

mod flags;
mod measure;
mod record;
mod show;

pub use flags::Flags;
pub use record::{SurveyRecord, ThenAndNow, Unit};

use crate::session::Session;

/// Runs the survey.
///
/// # Errors
/// A CPU, a lock or a thread that the system refuses.
pub fn run(session: &Session) -> anyhow::Result<SurveyRecord> {
    let plan = flags::Plan::of(session);
    let progress = session.progress(plan.budget);
    let measured = measure::run_plan(&plan, session, |what| progress.note(what))?;
    Ok(session.record(
        "survey",
        &plan.latency.cpu_set(),
        plan.budget,
        plan.parameters(measured.order),
        measured.rows,
        measured.warnings,
    ))
}
