//! `contend latency`: what one lock and one unlock cost, spike by spike.

mod flags;
mod measure;
mod record;
mod show;

pub use flags::{Flags, Parameters, Placement, Plan};
pub use measure::run_plan;
pub use record::{Bin, LatencyRecord, Operation, Row, SpikeRow};
pub use show::sections;

use crate::apparatus::Apparatus;
use crate::session::Session;
use std::time::Duration;

/// About what calibrating takes, for the progress bar.
const CALIBRATION: Duration = Duration::from_millis(1500);

/// Runs the experiment that the flags describe.
///
/// # Errors
/// Flags that do not fit this machine, a lock or a thread that the system refuses.
pub fn run(flags: &Flags, session: &Session) -> anyhow::Result<LatencyRecord> {
    let plan = Plan::of(flags, session)?;
    let progress = session.progress(CALIBRATION + plan.budget);
    progress.note("calibrating");
    let apparatus = Apparatus::calibrate(session)?;
    let measured = run_plan(&plan, session, &apparatus, |what| progress.note(what))?;
    let warnings = apparatus.warnings().into_iter().chain(measured.warnings).collect();
    Ok(session.record(
        "latency",
        &plan.cpu_set(),
        plan.budget,
        plan.parameters(measured.order),
        measured.rows,
        warnings,
    ))
}
