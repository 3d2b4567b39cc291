//! `contend clock`: the clock, the grind, and the speed that is left of the CPU.

mod flags;
mod measure;
mod record;
mod show;

pub use flags::{Flags, Parameters, Plan};
pub use measure::run_plan;
pub use record::{ClockRecord, Row, SliceRow, figures};
pub use show::sections;

use crate::apparatus::Apparatus;
use crate::session::Session;

/// Runs the experiment.
///
/// # Errors
/// A CPU that may not be used after all.
pub fn run(flags: &Flags, session: &Session) -> anyhow::Result<ClockRecord> {
    let plan = Plan::of(flags, session);
    let progress = session.progress(plan.budget);
    progress.note("calibrating");
    let apparatus = Apparatus::calibrate(session)?;
    let rows = run_plan(&plan, session, &apparatus, |what| progress.note(what))?;
    Ok(session.record("clock", &session.cpus, plan.budget, plan.parameters(), rows, apparatus.warnings()))
}
